"""Two organisations with a row in every table that belongs to one, made by the services that production uses."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import datetime

import psycopg
from django.apps import apps
from django.db import models
from django.utils import timezone
from psycopg import sql

from core.acts import Source, SourceKind, begin
from provisioning.drivers.base import Phase
from provisioning.enums import Source as Sign
from provisioning.models import Workload
from provisioning.services import activity, entries, launching, wishes
from provisioning.types import ArraySpec, JobSpec, Signals
from tenants.models import AccessToken
from tenants.services import projects
from tests import house, places
from tests.api.ask import send
from tests.architecture.test_tables import tenant_owned
from tests.house import Tenant
from tests.isolation.web_role import owner_login
from tests.isolation.world_billed import bill, open_books
from tests.isolation.world_governed import govern
from tests.proof import around_the_log
from tests.provisioning import stage

Ids = dict[str, object]


@dataclass
class World:
    aurora: Tenant
    borealis: Tenant
    machine: stage.Machine
    clock: stage.Clock
    ids: dict[str, Ids] = field(default_factory=dict)

    def tenant(self, name: str) -> Tenant:
        return self.aurora if name == "aurora" else self.borealis


def build() -> World:
    clock = stage.Clock(timezone.now())
    machine = stage.Machine(clock)
    stage.open_shop(h100=64)
    open_books()
    aurora = house.found("aurora", projects=("vision", "language"))
    house.join(aurora, "olivia", "owner")
    house.join(aurora, "billie", "billing")
    house.join(aurora, "alice", "developer", projects=("vision", "language"))
    house.join(aurora, "victor", "viewer", projects=("vision", "language"))
    borealis = house.found("borealis", projects=("drugs",), time_zone="America/Los_Angeles")
    house.join(borealis, "boris", "owner")
    house.join(borealis, "charlie", "developer", projects=("drugs",))
    world = World(aurora, borealis, machine, clock)
    world.ids["aurora"] = _work(world, aurora, "alice", "vision")
    world.ids["borealis"] = _work(world, borealis, "charlie", "drugs")
    return world


def _work(world: World, tenant: Tenant, person: str, project: str) -> Ids:
    """A running workspace that was opened, a deleted one whose disk is kept, a token, a repeated request."""
    clock, machine = world.clock, world.machine
    running = _launch(world, tenant, person, project, "notes")
    stage.settle(tenant, running, machine, clock, seconds=3)
    gone = _launch(world, tenant, person, project, "old")
    stage.settle(tenant, gone, machine, clock, seconds=3)
    stage.wish(tenant, person, wishes.delete, gone, clock.now)
    stage.settle(tenant, gone, machine, clock, seconds=3)
    job = _launch(world, tenant, person, project, "training", job=JobSpec(("python", "train.py")))
    stage.settle(tenant, job, machine, clock, seconds=3)
    machine.ends(job.pk, 0)
    stage.settle(tenant, job, machine, clock, seconds=3)
    sweep = _launch(world, tenant, person, project, "sweep", job=JobSpec(("python", "train.py"), array=ArraySpec(2)))
    stage.settle(tenant, sweep, machine, clock, seconds=3)
    machine.task(sweep.pk, 0, Phase.RUNNING)
    clock.pass_(seconds=10)
    stage.settle(tenant, sweep, machine, clock, seconds=1)
    activity.take_in(
        organization_id=tenant.organization.pk, workload_id=running.pk, signals=_signals(clock.now), now=clock.now
    )
    opened = _open(world, tenant, person, running)
    with begin(Source(SourceKind.PROXY)):
        entered = entries.redeem(label=opened.label, code=opened.code, now=clock.now)
    assert isinstance(entered, entries.Entered), entered
    unspent = _open(world, tenant, person, running)
    made = send(house.api_for(tenant, person), "post", "/api/v1/tokens", {"name": "laptop"}, Idempotency_Key="one")
    assert made.status_code == 201, made.content
    around_the_log(tenant)
    denied = send(house.api_for(tenant, person), "get", f"/api/v1/workloads/{tenant.organization.pk}")
    assert denied.status_code == 404
    _places(tenant, project)
    governed = govern(tenant, person)
    billed = bill(tenant, project)
    ways_in: Ids = {"entry_code": unspent.code, "cookie": entered.cookie_value}
    return _ids(tenant, project, running, gone) | governed | billed | ways_in


def _places(tenant: Tenant, project: str) -> None:
    """A project in a team, a role on the team, open invitations to all three kinds of place, a service account."""
    team = places.team_with(tenant, "billie" if "billie" in tenant.people else "charlie")
    with house.an_act(), tenant.scope():
        projects.change(
            actor=tenant.actor(places.owner_of(tenant)),
            project_id=tenant.projects[project].pk,
            changes={"team_id": team.pk},
            now=timezone.now(),
        )
    for place, role in ((team, "viewer"), (tenant.organization, "auditor"), (tenant.projects[project], "viewer")):
        places.invited(tenant, f"nora@{tenant.organization.slug}.example", role=role, place=place)
    places.account(tenant)


def _launch(world: World, tenant: Tenant, person: str, project: str, name: str, job: JobSpec | None = None) -> Workload:
    with house.an_act(), tenant.scope():
        return launching.launch(
            actor=tenant.actor(person),
            project=tenant.projects[project],
            spec=stage.spec(name=f"{tenant.organization.slug}-{name}", kind="job" if job else "workspace", job=job),
            now=world.clock.now,
        )


def _open(world: World, tenant: Tenant, person: str, workload: Workload) -> entries.Opened:
    """Opened with a token: a way in ends with the credential that asked for it."""
    house.token_for(tenant, person)
    with house.an_act(), tenant.scope():
        token = AccessToken.objects.latest("pk")
        actor = replace(tenant.actor(person), token_id=token.pk)
        return entries.open_entry(actor=actor, workload_id=workload.pk, now=world.clock.now)


def _signals(at: datetime) -> Signals:
    return Signals(
        at=at, busy_kernels=1, busy_terminals=0, detached=0, connections=1, last_activity=at, last_source=Sign.KERNEL
    )


def _ids(tenant: Tenant, project: str, running: Workload, gone: Workload) -> Ids:
    """A real object for each name that an address uses."""
    find = {
        "token_id": "tenants.AccessToken",
        "quota_id": "tenants.Quota",
        "session_id": "billing.UsageSession",
        "team_id": "tenants.Team",
        "invitation_id": "tenants.Invitation",
        "account_id": "tenants.ServiceAccount",
        "event_id": "core.AuditEvent",
        "payment_id": "billing.Payment",
        "grant_id": "billing.CreditGrant",
        "view_id": "core.AuditView",
        "stream_id": "core.AuditStream",
    }
    catalogue = {
        "region_id": "provisioning.Region",
        "accelerator_id": "provisioning.AcceleratorType",
        "shape_id": "provisioning.Shape",
        "image_id": "provisioning.Image",
        "cluster_id": "provisioning.Cluster",
        "sku_id": "billing.Sku",
        "book_id": "billing.PriceBook",
    }
    with tenant.scope():
        found = {name: apps.get_model(label)._base_manager.latest("pk").pk for name, label in find.items()}
        found |= {name: apps.get_model(label)._base_manager.latest("pk").pk for name, label in catalogue.items()}
    bystander = "billie" if "billie" in tenant.people else "charlie"
    return found | {
        "member_id": tenant.people[bystander].pk,
        "membership_id": places.membership_of(tenant, bystander).pk,
        "workload_id": running.pk,
        "volume_id": gone.volume_id,
        "organization_id": tenant.organization.pk,
        "organization_slug": tenant.organization.slug,
        "project_id": tenant.projects[project].pk,
        "project_slug": project,
        "slug": tenant.organization.slug,
        "leak_id": tenant.organization.pk,
        "person_id": next(iter(tenant.people.values())).pk,
        "month": timezone.now().strftime("%Y-%m"),
        "report_id": tenant.organization.pk,
    }


def key_of(model: type[models.Model]) -> str:
    return "id" if model._meta.label == "tenants.Organization" else "organization_id"


def rows_of(tenant: Tenant) -> dict[str, str]:
    """A fingerprint of everything that an organisation has, by table, read as the database's owner."""
    found = {}
    with owner_login().connect() as owner:
        for model in tenant_owned():
            query = sql.SQL("SELECT coalesce(md5(string_agg(t::text, '|' ORDER BY t.id)), '') FROM {} t WHERE {} = %s")
            table, key = sql.Identifier(model._meta.db_table), sql.Identifier(key_of(model))
            row = owner.execute(query.format(table, key), [tenant.organization.pk]).fetchone()
            assert row is not None
            found[model._meta.label] = str(row[0])
    return found


def words_of(tenant: Tenant) -> set[str]:
    """What gives an organisation away: the ids of its rows, its people's addresses, its names."""
    words = {person.email for person in tenant.people.values()}
    words |= {f"{tenant.organization.slug}-notes", f"{tenant.organization.slug}-old", tenant.organization.name}
    words |= {str(person.pk) for person in tenant.people.values()}
    with owner_login().connect() as owner:
        for model in tenant_owned():
            query = sql.SQL("SELECT id FROM {} WHERE {} = %s").format(
                sql.Identifier(model._meta.db_table), sql.Identifier(key_of(model))
            )
            words |= {str(row[0]) for row in owner.execute(query, [tenant.organization.pk]) if len(str(row[0])) == 36}
    return words


def forget_denials() -> None:
    """A denial keeps the id that was asked for, in the chain of who asked: it would be found again there."""
    with owner_login().connect() as owner:
        owner.execute("SET session_replication_role = replica")
        owner.execute("DELETE FROM core_auditevent WHERE outcome <> 'done'")


def empty(owner: psycopg.Connection) -> None:
    """Every table of ours, as if nothing had been built."""
    tables = owner.execute(
        "SELECT relname FROM pg_class WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace"
        " AND relname NOT IN ('django_migrations', 'django_content_type', 'auth_permission')"
    ).fetchall()
    names = sql.SQL(", ").join(sql.Identifier(row[0]) for row in tables)
    owner.execute(sql.SQL("TRUNCATE {}").format(names))
