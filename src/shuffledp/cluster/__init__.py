"""Work spread over Apache Spark: sessions, and sums that are made in one evaluation."""
