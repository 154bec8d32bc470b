"""Plans carried out on data: in memory, or out of core on files. Whatever the partitioning, the messages are the same bits."""
