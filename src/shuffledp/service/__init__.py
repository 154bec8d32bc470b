"""Encode, shuffle, analyze as software: tasks, sealed reports, keys, clients, the shuffler and the analyzer."""
