"""The published method: association network, its training, grouping, tracker."""
