from django.urls import include, path

urlpatterns = [
    path("api/v1/", include("planner.api.urls")),
    path("", include("frontend.urls")),
]
