"""Migration operations that make the database keep tenants apart and audit honest."""

from __future__ import annotations

from collections.abc import Sequence

from django.conf import settings
from django.db.backends.base.schema import BaseDatabaseSchemaEditor
from django.db.migrations.operations.base import Operation
from django.db.migrations.state import ProjectState
from django.db.models import ForeignKey, Model

from core.scope import APP_ROLE, PLATFORM_ROLE

ROLES = f"{APP_ROLE}, {PLATFORM_ROLE}"


class DatabaseOperation(Operation):
    """SQL that depends on a model's table; it changes no Django state and can be undone."""

    reversible = True
    reduces_to_sql = True

    def state_forwards(self, app_label: str, state: ProjectState) -> None:
        return None

    def database_forwards(
        self,
        app_label: str,
        schema_editor: BaseDatabaseSchemaEditor,
        from_state: ProjectState,
        to_state: ProjectState,
    ) -> None:
        for statement in self.forwards(app_label, to_state):
            schema_editor.execute(statement, params=None)

    def database_backwards(
        self,
        app_label: str,
        schema_editor: BaseDatabaseSchemaEditor,
        from_state: ProjectState,
        to_state: ProjectState,
    ) -> None:
        for statement in self.backwards(app_label, from_state):
            schema_editor.execute(statement, params=None)

    def forwards(self, app_label: str, state: ProjectState) -> list[str]:
        raise NotImplementedError

    def backwards(self, app_label: str, state: ProjectState) -> list[str]:
        return []


class TenancyGround(DatabaseOperation):
    """Roles, the two functions that policies read, and the guard of audited tables."""

    def forwards(self, app_label: str, state: ProjectState) -> list[str]:
        return [
            "CREATE EXTENSION IF NOT EXISTS btree_gist",
            *(_role_if_missing(role) for role in (APP_ROLE, PLATFORM_ROLE)),
            f"GRANT USAGE ON SCHEMA public TO {ROLES}",
            f"ALTER DEFAULT PRIVILEGES IN SCHEMA public GRANT SELECT, INSERT, UPDATE, DELETE ON TABLES TO {ROLES}",
            f"ALTER DEFAULT PRIVILEGES IN SCHEMA public GRANT USAGE ON SEQUENCES TO {ROLES}",
            f"GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO {ROLES}",
            f"GRANT USAGE ON ALL SEQUENCES IN SCHEMA public TO {ROLES}",
            _setting_function("steelyard_organization", "steelyard.organization"),
            _setting_function("steelyard_user", "steelyard.user"),
            f"GRANT EXECUTE ON FUNCTION steelyard_organization(), steelyard_user() TO {ROLES}",
            _AUDIT_GUARD,
            _ONCE_GUARD,
            _PLATFORM_COLUMNS,
        ]

    def describe(self) -> str:
        return "Lay the ground for row-level security"


class TenantTable(DatabaseOperation):
    """Row-level security, composite foreign keys and, where asked, the audit guard for one tenant-owned table.

    `audited`: columns whose change needs an audit event in the same transaction (inserts and deletes always do);
    None leaves the table unguarded. `visible`: SQL of a wider read policy, over the row's columns.
    """

    def __init__(
        self,
        model: str,
        *,
        audited: Sequence[str] | None = None,
        insert_only: bool = False,
        visible: str | None = None,
        key: str = "organization_id",
    ) -> None:
        self.model = model
        self.audited = audited
        self.insert_only = insert_only
        self.visible = visible
        self.key = key

    def describe(self) -> str:
        return f"Keep the rows of {self.model} apart by organisation"

    def forwards(self, app_label: str, state: ProjectState) -> list[str]:
        model = state.apps.get_model(app_label, self.model)
        table = model._meta.db_table
        mine = f"{self.key} = steelyard_organization()"
        statements = [
            f'ALTER TABLE "{table}" ENABLE ROW LEVEL SECURITY',
            f'ALTER TABLE "{table}" FORCE ROW LEVEL SECURITY',
            f'CREATE POLICY tenant ON "{table}" TO {APP_ROLE} USING ({mine}) WITH CHECK ({mine})',
            f'CREATE POLICY platform ON "{table}" TO {PLATFORM_ROLE} USING (true) WITH CHECK (true)',
        ]
        if self.visible:
            statements.append(f'CREATE POLICY visible ON "{table}" FOR SELECT TO {APP_ROLE} USING ({self.visible})')
        if self.key != "id":
            statements.append(f'ALTER TABLE "{table}" ADD CONSTRAINT "{table}_tenant" UNIQUE (organization_id, id)')
        statements += [_composite(table, field) for field in _tenant_keys(model)]
        statements += [_own_organization(table, field) for field in _organization_keys(model)]
        if self.insert_only:
            statements.append(f'REVOKE UPDATE, DELETE, TRUNCATE ON "{table}" FROM {ROLES}')
        if self.audited is not None:
            statements += _audit_guard(table, self.audited)
        return statements

    def backwards(self, app_label: str, state: ProjectState) -> list[str]:
        table = state.apps.get_model(app_label, self.model)._meta.db_table
        return [f'DROP POLICY IF EXISTS {policy} ON "{table}"' for policy in ("tenant", "platform", "visible")] + [
            f'ALTER TABLE "{table}" DISABLE ROW LEVEL SECURITY'
        ]


class GlobalTable(DatabaseOperation):
    """A table of the platform's: organisations read it. `updates` names the columns that their work also changes."""

    def __init__(self, model: str, *, updates: Sequence[str] = ()) -> None:
        self.model = model
        self.updates = updates

    def describe(self) -> str:
        return f"Let organisations read {self.model}"

    def forwards(self, app_label: str, state: ProjectState) -> list[str]:
        table = state.apps.get_model(app_label, self.model)._meta.db_table
        statements = [f'REVOKE INSERT, UPDATE, DELETE ON "{table}" FROM {APP_ROLE}']
        if self.updates:
            columns = ", ".join(f'"{column}"' for column in self.updates)
            statements.append(f'GRANT UPDATE ({columns}) ON "{table}" TO {APP_ROLE}')
        return statements

    def backwards(self, app_label: str, state: ProjectState) -> list[str]:
        table = state.apps.get_model(app_label, self.model)._meta.db_table
        return [f'GRANT INSERT, UPDATE, DELETE ON "{table}" TO {APP_ROLE}']


class PlatformColumns(DatabaseOperation):
    """Columns of a table that organisations write otherwise, which the platform's role alone may set."""

    def __init__(self, model: str, *, columns: Sequence[str]) -> None:
        self.model = model
        self.columns = columns

    def describe(self) -> str:
        return f"Let the platform alone set {', '.join(self.columns)} of {self.model}"

    def forwards(self, app_label: str, state: ProjectState) -> list[str]:
        model = state.apps.get_model(app_label, self.model)
        table = model._meta.db_table
        words = ", ".join(f"'{column}'" for column in self.columns)
        return [
            f'CREATE TRIGGER platform_columns BEFORE INSERT OR UPDATE ON "{table}" FOR EACH ROW'
            f" WHEN (current_user = '{APP_ROLE}') EXECUTE FUNCTION steelyard_platform_columns({words})"
        ]

    def backwards(self, app_label: str, state: ProjectState) -> list[str]:
        table = state.apps.get_model(app_label, self.model)._meta.db_table
        return [f'DROP TRIGGER platform_columns ON "{table}"']


class DefinerFunction(DatabaseOperation):
    """A question that must be answered before a tenant is known. It returns ids only."""

    def __init__(self, name: str, *, arguments: str, returns: str, body: str) -> None:
        self.name = name
        self.arguments = arguments
        self.returns = returns
        self.body = body

    def describe(self) -> str:
        return f"Define {self.name}"

    def forwards(self, app_label: str, state: ProjectState) -> list[str]:
        return [
            f"CREATE OR REPLACE FUNCTION {self.name}({self.arguments}) RETURNS {self.returns} LANGUAGE sql STABLE"
            f" SECURITY DEFINER SET search_path = public, pg_temp AS $body$ {self.body} $body$",
            f"REVOKE ALL ON FUNCTION {self.name} FROM PUBLIC",
            f"GRANT EXECUTE ON FUNCTION {self.name} TO {ROLES}",
        ]

    def backwards(self, app_label: str, state: ProjectState) -> list[str]:
        return [f"DROP FUNCTION {self.name}"]


class TenantKeys(DatabaseOperation):
    """Composite foreign keys for columns added to a table that is already kept apart."""

    def __init__(self, model: str, *, fields: Sequence[str]) -> None:
        self.model = model
        self.fields = fields

    def describe(self) -> str:
        return f"Keep {', '.join(self.fields)} of {self.model} inside the organisation"

    def forwards(self, app_label: str, state: ProjectState) -> list[str]:
        model = state.apps.get_model(app_label, self.model)
        return [_composite(model._meta.db_table, field) for field in _tenant_keys(model) if field.name in self.fields]

    def backwards(self, app_label: str, state: ProjectState) -> list[str]:
        model = state.apps.get_model(app_label, self.model)
        table = model._meta.db_table
        return [
            f'ALTER TABLE "{table}" DROP CONSTRAINT "{table}_{field.column}_tenant"'
            for field in _tenant_keys(model)
            if field.name in self.fields
        ]


class AuditedColumns(DatabaseOperation):
    """Name anew the columns of a guarded table whose change needs an audit event."""

    def __init__(self, model: str, *, columns: Sequence[str], before: Sequence[str]) -> None:
        self.model = model
        self.columns = columns
        self.before = before

    def describe(self) -> str:
        return f"Audit changes of {', '.join(self.columns)} of {self.model}"

    def forwards(self, app_label: str, state: ProjectState) -> list[str]:
        return _changes_guard_again(state.apps.get_model(app_label, self.model)._meta.db_table, self.columns)

    def backwards(self, app_label: str, state: ProjectState) -> list[str]:
        return _changes_guard_again(state.apps.get_model(app_label, self.model)._meta.db_table, self.before)


class SealOnce(DatabaseOperation):
    """Named columns go from NULL to a value once; nothing else of the row ever changes."""

    def __init__(self, model: str, *, columns: Sequence[str]) -> None:
        self.model = model
        self.columns = columns

    def describe(self) -> str:
        return f"Seal {', '.join(self.columns)} of {self.model} once"

    def forwards(self, app_label: str, state: ProjectState) -> list[str]:
        table = state.apps.get_model(app_label, self.model)._meta.db_table
        words = ", ".join(f"'{column}'" for column in self.columns)
        return [
            f'CREATE TRIGGER seal_once BEFORE UPDATE OR DELETE ON "{table}" FOR EACH ROW'
            f" EXECUTE FUNCTION steelyard_seal_once({words})"
        ]

    def backwards(self, app_label: str, state: ProjectState) -> list[str]:
        table = state.apps.get_model(app_label, self.model)._meta.db_table
        return [f'DROP TRIGGER seal_once ON "{table}"']


def _role_if_missing(role: str) -> str:
    return (
        f"DO $$ BEGIN IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = '{role}') THEN"
        f" CREATE ROLE {role} NOLOGIN NOINHERIT; END IF; END $$"
    )


def _setting_function(name: str, setting: str) -> str:
    return (
        f"CREATE OR REPLACE FUNCTION {name}() RETURNS uuid LANGUAGE sql STABLE PARALLEL SAFE AS"
        f" $$ SELECT NULLIF(current_setting('{setting}', true), '')::uuid $$"
    )


def _tenant_keys(model: type[Model]) -> list[ForeignKey[Model, Model]]:
    """Foreign keys to other tenant-owned tables."""
    return [
        field
        for field in model._meta.local_fields
        if isinstance(field, ForeignKey)
        and field.name != "organization"
        and any(other.name == "organization" for other in field.related_model._meta.local_fields)
    ]


def _organization_keys(model: type[Model]) -> list[ForeignKey[Model, Model]]:
    """Foreign keys to an organisation besides the row's own: they lead to the same one."""
    return [
        field
        for field in model._meta.local_fields
        if isinstance(field, ForeignKey)
        and field.name != "organization"
        and field.related_model._meta.label == settings.STEELYARD_TENANT_MODEL
    ]


def _own_organization(table: str, field: ForeignKey[Model, Model]) -> str:
    return (
        f'ALTER TABLE "{table}" ADD CONSTRAINT "{table}_{field.column}_tenant"'
        f' CHECK ("{field.column}" = organization_id)'
    )


def _composite(table: str, field: ForeignKey[Model, Model]) -> str:
    target = field.related_model._meta.db_table
    return (
        f'ALTER TABLE "{table}" ADD CONSTRAINT "{table}_{field.column}_tenant" FOREIGN KEY'
        f' (organization_id, "{field.column}") REFERENCES "{target}" (organization_id, id)'
        " DEFERRABLE INITIALLY DEFERRED"
    )


def _audit_guard(table: str, columns: Sequence[str]) -> list[str]:
    statements = [
        f'CREATE CONSTRAINT TRIGGER audited_rows AFTER INSERT OR DELETE ON "{table}" {_DEFERRED}'
        " EXECUTE FUNCTION steelyard_audit_guard()"
    ]
    if columns:
        statements.append(_changes_guard(table, columns))
    return statements


def _changes_guard_again(table: str, columns: Sequence[str]) -> list[str]:
    return [f'DROP TRIGGER IF EXISTS audited_changes ON "{table}"', _changes_guard(table, columns)]


def _changes_guard(table: str, columns: Sequence[str]) -> str:
    changed = " OR ".join(f'OLD."{column}" IS DISTINCT FROM NEW."{column}"' for column in columns)
    return (
        f'CREATE CONSTRAINT TRIGGER audited_changes AFTER UPDATE ON "{table}" {_DEFERRED}'
        f" WHEN ({changed}) EXECUTE FUNCTION steelyard_audit_guard()"
    )


_DEFERRED = "DEFERRABLE INITIALLY DEFERRED FOR EACH ROW"

_AUDIT_GUARD = """
CREATE OR REPLACE FUNCTION steelyard_audit_guard() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF COALESCE(current_setting('steelyard.act', true), '') = '' THEN
    RAISE EXCEPTION 'A write to % without an audit event was refused.', TG_TABLE_NAME USING ERRCODE = 'SY001';
  END IF;
  RETURN NULL;
END $$
"""

_ONCE_GUARD = """
CREATE OR REPLACE FUNCTION steelyard_seal_once() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  old_row jsonb := to_jsonb(OLD);
  new_row jsonb;
  name text;
BEGIN
  IF TG_OP = 'DELETE' THEN
    RAISE EXCEPTION 'Rows of % are never deleted.', TG_TABLE_NAME USING ERRCODE = 'SY002';
  END IF;
  new_row := to_jsonb(NEW);
  FOREACH name IN ARRAY TG_ARGV LOOP
    IF old_row -> name <> 'null'::jsonb AND old_row -> name IS DISTINCT FROM new_row -> name THEN
      RAISE EXCEPTION '% of % is set once.', name, TG_TABLE_NAME USING ERRCODE = 'SY002';
    END IF;
    old_row := old_row - name;
    new_row := new_row - name;
  END LOOP;
  IF old_row IS DISTINCT FROM new_row THEN
    RAISE EXCEPTION 'Rows of % do not change.', TG_TABLE_NAME USING ERRCODE = 'SY002';
  END IF;
  RETURN NEW;
END $$
"""

_PLATFORM_COLUMNS = """
CREATE OR REPLACE FUNCTION steelyard_platform_columns() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  old_row jsonb := CASE WHEN TG_OP = 'UPDATE' THEN to_jsonb(OLD) ELSE '{}'::jsonb END;
  new_row jsonb := to_jsonb(NEW);
  name text;
BEGIN
  FOREACH name IN ARRAY TG_ARGV LOOP
    IF COALESCE(old_row ->> name, '') IN ('', 'false') AND COALESCE(new_row ->> name, '') IN ('', 'false') THEN
      CONTINUE;
    END IF;
    IF old_row -> name IS DISTINCT FROM new_row -> name THEN
      RAISE EXCEPTION 'Only the platform sets % of %.', name, TG_TABLE_NAME USING ERRCODE = 'SY003';
    END IF;
  END LOOP;
  RETURN NEW;
END $$
"""
