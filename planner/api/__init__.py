"""REST: views and serializers, no arithmetic."""
