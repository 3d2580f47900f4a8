"""The database keeps tenants apart by itself: asked in SQL, under the web role's own login."""

from __future__ import annotations

import psycopg
import pytest
from django.db import connection, models
from psycopg import errors, sql
from psycopg.types.json import Jsonb

from core import scope
from core.rls import _organization_keys, _tenant_keys
from tests.architecture.test_tables import DEFINER_FUNCTIONS, tenant_owned
from tests.isolation.world import key_of

TABLES = [pytest.param(model, id=model._meta.label) for model in tenant_owned()]
KEYS = [
    pytest.param(model, field, id=f"{model._meta.label}.{field.name}")
    for model in tenant_owned()
    for field in (*_tenant_keys(model), *_organization_keys(model))
]
INSIDE = "SELECT set_config('role', 'steelyard_app', true), set_config('steelyard.organization', %s, true)"


def enter(web, tenant):
    web.execute(INSIDE, [str(tenant.organization.pk)])


def counted(web, model, where=""):
    return web.execute(f'SELECT count(*) FROM "{model._meta.db_table}" {where}').fetchone()[0]


def test_every_table_has_a_row_of_both(world, owner):
    """What follows would prove nothing on an empty table."""
    for tenant in (world.aurora, world.borealis):
        empty = [
            model._meta.label
            for model in tenant_owned()
            if not counted(owner, model, f"WHERE {key_of(model)} = '{tenant.organization.pk}'")
        ]
        assert empty == []


@pytest.mark.parametrize("model", TABLES)
class TestEveryTable:
    def test_shows_nothing_without_a_context(self, world, web, model):
        assert counted(web, model) == 0

    def test_shows_nothing_to_a_context_that_is_empty_or_nobodys(self, world, web, model):
        for organization in ("", "00000000-0000-0000-0000-000000000000"):
            web.execute(INSIDE, [organization])
            assert counted(web, model) == 0

    def test_shows_ones_own_rows_alone(self, world, web, model):
        enter(web, world.aurora)

        assert counted(web, model) > 0
        assert counted(web, model, f"WHERE {key_of(model)} <> '{world.aurora.organization.pk}'") == 0

    def test_lets_nobody_change_or_remove_a_foreign_row(self, world, web, model):
        table, key = model._meta.db_table, key_of(model)
        theirs = world.borealis.organization.pk
        enter(web, world.aurora)

        for statement in (f'UPDATE "{table}" SET id = id WHERE {key} = %s', f'DELETE FROM "{table}" WHERE {key} = %s'):
            with web.transaction(force_rollback=True):
                try:
                    assert web.execute(statement, [theirs]).rowcount == 0
                except errors.InsufficientPrivilege:
                    continue  # not even granted

    def test_takes_in_no_row_for_somebody_else(self, world, web, owner, model):
        """A copy of a row of theirs, as they would write it themselves."""
        table = model._meta.db_table
        row = owner.execute(
            f'SELECT to_jsonb(t) FROM "{table}" t WHERE {key_of(model)} = %s LIMIT 1', [world.borealis.organization.pk]
        ).fetchone()[0]
        copy = Jsonb(row)

        for context in (world.aurora, None):
            with web.transaction(force_rollback=True):
                if context:
                    enter(web, context)
                with pytest.raises(errors.InsufficientPrivilege, match=r"row-level security|permission denied"):
                    web.execute(
                        f'INSERT INTO "{table}" SELECT * FROM jsonb_populate_record(NULL::"{table}", %s)', [copy]
                    )


def _foreign_keys(model: type[models.Model]) -> list[tuple[str, type[models.Model]]]:
    return [
        (field.name, field.related_model) for field in model._meta.local_fields if isinstance(field, models.ForeignKey)
    ]


def leave_only_the_keys(owner, table):
    """Nothing else is to refuse first: no trigger of ours, no rule of uniqueness. It is rolled back."""
    owner.execute(f'ALTER TABLE "{table}" DISABLE TRIGGER USER')
    unique = owner.execute(
        "SELECT i.relname, c.conname FROM pg_index x JOIN pg_class i ON i.oid = x.indexrelid"
        " LEFT JOIN pg_constraint c ON c.conindid = x.indexrelid AND c.contype IN ('u', 'x')"
        " WHERE x.indrelid = %s::regclass AND x.indisunique AND NOT x.indisprimary AND i.relname NOT LIKE '%%_tenant'",
        [table],
    ).fetchall()
    for index, constraint in unique:
        drop = f'ALTER TABLE "{table}" DROP CONSTRAINT "{constraint}"' if constraint else f'DROP INDEX "{index}"'
        owner.execute(drop)


@pytest.mark.parametrize(("model", "field"), KEYS)
def test_a_row_that_points_into_another_tenant_is_refused(world, owner, model, field):
    """Also where row-level security looks away: foreign keys do, and the database's owner."""
    table, target = model._meta.db_table, field.related_model
    row = owner.execute(
        f'SELECT id FROM "{table}" WHERE organization_id = %s AND "{field.column}" IS NOT NULL LIMIT 1',
        [world.aurora.organization.pk],
    ).fetchone()
    foreign = owner.execute(
        f'SELECT id FROM "{target._meta.db_table}" WHERE {key_of(target)} = %s LIMIT 1',
        [world.borealis.organization.pk],
    ).fetchone()
    assert row, "The world holds no row that this key leads from."
    leave_only_the_keys(owner, table)
    owner.execute("SET CONSTRAINTS ALL IMMEDIATE")
    expected = sql.SQL("UPDATE {} SET {} = %s WHERE id = %s").format(
        sql.Identifier(table), sql.Identifier(field.column)
    )

    with pytest.raises((errors.ForeignKeyViolation, errors.CheckViolation), match=f"{field.column}_tenant"[:30]):
        owner.execute(expected, [foreign[0], row[0]])


def test_the_keys_above_are_all_there_are():
    """Each relation of a tenant's table leads to a tenant's table under such a key, or to a listed global one."""
    known = {tuple(str(param.id).rsplit(".", 1)) for param in KEYS}
    others = {
        target._meta.label
        for model in tenant_owned()
        for name, target in _foreign_keys(model)
        if name != "organization" and (model._meta.label, name) not in known
    }

    assert others == {
        "auth.Permission",
        "billing.Sku",
        "provisioning.Cluster",
        "provisioning.Image",
        "provisioning.Shape",
        "tenants.User",
    }


REFUSED = {
    "become the owner": "SET ROLE {owner}",
    "become it by another word": "SET SESSION AUTHORIZATION {owner}",
    "give itself the owner": "GRANT {owner} TO steelyard_app",
    "bypass row-level security": "ALTER ROLE steelyard_app BYPASSRLS",
    "bypass it as the platform": "ALTER ROLE steelyard_platform BYPASSRLS",
    "make a role": "CREATE ROLE intruder SUPERUSER",
    "switch row-level security off": "ALTER TABLE tenants_project DISABLE ROW LEVEL SECURITY",
    "exempt somebody from it": "ALTER TABLE tenants_project NO FORCE ROW LEVEL SECURITY",
    "write a wider policy": "CREATE POLICY all_of_it ON tenants_project USING (true)",
    "drop a policy": "DROP POLICY tenant ON tenants_project",
    "disable a trigger": "ALTER TABLE core_auditevent DISABLE TRIGGER ALL",
    "drop a trigger": "DROP TRIGGER seal_once ON core_auditevent",
    "replay as a replica": "SET session_replication_role = replica",
    "replace the guard": (
        "CREATE OR REPLACE FUNCTION steelyard_audit_guard() RETURNS trigger LANGUAGE plpgsql AS"
        " $$ BEGIN RETURN NULL; END $$"
    ),
    "replace what policies read": (
        "CREATE OR REPLACE FUNCTION steelyard_organization() RETURNS uuid LANGUAGE sql AS $$ SELECT NULL::uuid $$"
    ),
    "make a function": "CREATE FUNCTION mine() RETURNS int LANGUAGE sql AS $$ SELECT 1 $$",
    "make a table": "CREATE TABLE mine (id int)",
    "empty a table": "TRUNCATE core_auditevent",
    "drop a table": "DROP TABLE core_auditevent",
    "read the roles' passwords": "SELECT rolpassword FROM pg_authid",
    "read a file of the server": "SELECT pg_read_file('postgresql.conf')",
    "run a program": "COPY (SELECT 1) TO PROGRAM 'true'",
    "forge an applied migration": "INSERT INTO django_migrations (app, name, applied) VALUES ('core', 'x', now())",
    "rename a permission": "UPDATE auth_permission SET codename = 'all'",
    "write the catalogue": "UPDATE provisioning_shape SET sku_quantity = 0",
    "enlarge a cluster": "UPDATE provisioning_cluster SET capacity = '{{}}'",
    "set a price": "UPDATE billing_price SET unit_price = 0",
    "make somebody the platform's administrator": "UPDATE tenants_user SET platform_role = 'platform_admin'",
    "make a superuser": "UPDATE tenants_user SET is_superuser = true",
}


class TestTheWebRole:
    @pytest.mark.parametrize("what", REFUSED)
    @pytest.mark.parametrize("inside", [False, True], ids=["outside", "inside"])
    def test_cannot(self, world, web, owner, what, inside):
        if inside:
            enter(web, world.aurora)
        with pytest.raises(psycopg.Error) as caught:
            web.execute(REFUSED[what].format(owner=owner.info.user))

        assert caught.value.sqlstate in {"42501", "SY003"}, caught.value

    def test_sees_an_error_and_no_more_with_row_security_off(self, world, web):
        enter(web, world.aurora)
        web.execute("SET LOCAL row_security = off")

        with pytest.raises(errors.InsufficientPrivilege, match="would be affected by row-level security"):
            counted(web, tenant_owned()[0])

    @pytest.mark.parametrize("statement", ["UPDATE core_auditevent SET verb = 'x'", "DELETE FROM core_auditevent"])
    def test_cannot_rewrite_the_audit_log(self, world, web, statement):
        enter(web, world.aurora)

        with pytest.raises(psycopg.Error) as caught:
            web.execute(statement)
        assert caught.value.sqlstate == "SY002"

    def test_writes_outside_tenancy_where_its_work_needs_it_and_nowhere_else(self, world, owner):
        rows = owner.execute(
            "SELECT relname, has_any_column_privilege('steelyard_app', c.oid, 'UPDATE')"
            " OR has_table_privilege('steelyard_app', c.oid, 'INSERT')"
            " OR has_table_privilege('steelyard_app', c.oid, 'DELETE')"
            " FROM pg_class c WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace AND NOT relrowsecurity"
        ).fetchall()

        assert {name for name, writes in rows if writes} == {
            "account_emailaddress",  # allauth
            "account_emailconfirmation",
            "django_session",  # sessions
            "usersessions_usersession",
            "mfa_authenticator",  # a person's second factors
            "provisioning_cluster",  # the column `used` alone
            "tenants_user",  # people are global: last sign-in, password, name
        }

    def test_reads_password_hashes_in_one_table_since_it_checks_passwords(self, world, owner):
        rows = owner.execute(
            "SELECT table_name, column_name FROM information_schema.column_privileges"
            " WHERE grantee = 'steelyard_app' AND privilege_type = 'SELECT' AND column_name ~ 'password|hash|secret'"
        ).fetchall()

        assert {f"{table}.{column}" for table, column in rows} == {
            "tenants_user.password",
            "tenants_accesstoken.secret_hash",
            "tenants_invitation.secret_hash",
            "tenants_invitation.mail_secret",  # encrypted, until it is mailed
            "tenants_identityprovider.client_secret",  # encrypted
            "core_auditstream.secret",  # encrypted
            "core_auditstream.former_secret",
            "core_auditcut.hash",
            "billing_invoiceseries.last_hash",  # of documents' contents
            "billing_invoicedocument.hash",
            "billing_invoicedocument.previous_hash",
            "provisioning_clusteraccess.secret",  # encrypted; the reconciler reads it in a tenant's scope
            "provisioning_entrycode.code_hash",
            "provisioning_workspaceentry.cookie_hash",
            "core_auditevent.hash",
            "core_auditevent.prev_hash",
            "core_idempotencykey.body_hash",
        }

    def test_keeps_nothing_of_a_scope_when_it_is_over(self, world):
        with scope.of_organization(world.aurora.organization.pk), connection.cursor() as cursor:
            cursor.execute("SELECT steelyard_organization()")
            assert cursor.fetchone() == (world.aurora.organization.pk,)
        with connection.cursor() as cursor:
            cursor.execute("SELECT current_user::text, session_user::text, steelyard_organization(), steelyard_user()")
            assert cursor.fetchone() == ("steelyard_app", "steelyard_app", None, None)


class TestDefinerFunctions:
    def test_return_ids_only_from_a_fixed_place_for_the_two_roles_alone(self, world, owner):
        rows = owner.execute(
            "SELECT proname, prorettype::regtype::text, proallargtypes::regtype[]::text[], proargmodes::text[],"
            " proconfig, proacl::text FROM pg_proc WHERE prosecdef AND pronamespace = 'public'::regnamespace"
        ).fetchall()

        assert {row[0] for row in rows} == DEFINER_FUNCTIONS
        for name, returns, types, modes, config, grants in rows:
            columns = [kind for kind, mode in zip(types or [], modes or [], strict=False) if mode == "t"]
            assert set(columns or [returns]) == {"uuid"}, name
            assert config == ["search_path=public, pg_temp"], name
            assert "steelyard_app=X" in grants, name
            assert "{=X" not in grants, name
            assert ",=X" not in grants, name
