"""The builder: schedules written by Python calls with the names of the ops."""
