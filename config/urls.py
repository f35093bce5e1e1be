from django.urls import include, path

urlpatterns = [
    path("", include("monitoring.doors.urls")),
    path("api/v1/live/", include("monitoring.api.urls")),
    path("api/v1/", include("planner.api.urls")),
    path("", include("frontend.urls")),
]

handler400 = "frontend.pages.refusals.bad_request"
handler404 = "frontend.pages.refusals.page_not_found"
