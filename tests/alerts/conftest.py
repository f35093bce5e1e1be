import json

import pytest
from django.contrib.auth.models import User


class Rest:
    """The API, as somebody who is signed in uses it."""

    def __init__(self, client):
        self.client = client

    def __call__(self, method, path, body=None, **headers):
        sent = {} if body is None else {"data": json.dumps(body), "content_type": "application/json"}
        return getattr(self.client, method)(f"/api/v1/live/{path}", **sent, headers=headers)

    def made(self, path, **body):
        answer = self("post", path, body)
        assert answer.status_code == 201, answer.content
        return answer.json()

    def refused(self, method, path, body):
        answer = self(method, path, body)
        assert answer.status_code == 400, answer.content
        return {each["field"]: each["message"] for each in answer.json()["errors"]}


@pytest.fixture
def rest(client):
    client.force_login(User.objects.create_user("ada"))
    return Rest(client)


@pytest.fixture
def anyone(django_user_model):
    from django.test import Client

    return Rest(Client())
