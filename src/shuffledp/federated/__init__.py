"""Federated averaging: clients send small messages about their updates, and a server learns nothing but their mean."""
