"""Where the values of people come from: columns, data frames, files and tables, as chunks of rows that have addresses."""
