"""What the platform offers: regions, accelerators, clusters, images and shapes."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeVar
from uuid import UUID

from django.http import HttpResponse
from rest_framework.request import Request

from core.api.endpoint import Endpoint
from core.api.shapes import shape
from core.errors import NotFound
from core.models import UUIDModel
from core.routes import AUTHENTICATED, route
from provisioning.api import examples, outputs
from provisioning.api.describing import AcceleratorOutput, ImageOutput, RegionOutput, ShapeOutput
from provisioning.selectors.catalogue import accelerators, active_images, offered_shapes, regions
from tenants.selectors import organization_of

M = TypeVar("M", bound=UUIDModel)


class _Listed(Endpoint):
    """Short lists in the catalogue's own order, all on one page."""

    def all_of(self, rows: Iterable[M], present: Callable[[M], object]) -> HttpResponse:
        return self.tagged(self.whole([present(row) for row in rows]))

    def one_of(self, rows: Iterable[M], kind: str, key: UUID, present: Callable[[M], object]) -> HttpResponse:
        for row in rows:
            if row.pk == key:
                return self.tagged(self.answer(present(row)))
        raise NotFound(kind, key)


class Regions(_Listed):
    @route(permission=AUTHENTICATED, verb="region.listed")
    @shape(summary="List regions", output=RegionOutput, listed=True, versioned=True)
    def get(self, request: Request) -> HttpResponse:
        return self.all_of(regions(), outputs.region)


class Region(_Listed):
    @route(permission=AUTHENTICATED, verb="region.viewed")
    @shape(summary="Show a region", output=RegionOutput, versioned=True)
    def get(self, request: Request, region_id: UUID) -> HttpResponse:
        return self.one_of(regions(), "region", region_id, outputs.region)


class Accelerators(_Listed):
    @route(permission=AUTHENTICATED, verb="accelerator.listed")
    @shape(summary="List accelerators", output=AcceleratorOutput, listed=True, versioned=True)
    def get(self, request: Request) -> HttpResponse:
        """The models. Shapes say how many of one come together."""
        return self.all_of(accelerators(), outputs.accelerator)


class Accelerator(_Listed):
    @route(permission=AUTHENTICATED, verb="accelerator.viewed")
    @shape(summary="Show an accelerator", output=AcceleratorOutput, versioned=True)
    def get(self, request: Request, accelerator_id: UUID) -> HttpResponse:
        return self.one_of(accelerators(), "accelerator", accelerator_id, outputs.accelerator)


class Images(_Listed):
    @route(permission=AUTHENTICATED, verb="image.listed")
    @shape(summary="List images", output=ImageOutput, listed=True, versioned=True)
    def get(self, request: Request) -> HttpResponse:
        """Those that may be launched now."""
        return self.all_of(active_images(), outputs.image)


class Image(_Listed):
    @route(permission=AUTHENTICATED, verb="image.viewed")
    @shape(summary="Show an image", output=ImageOutput, versioned=True)
    def get(self, request: Request, image_id: UUID) -> HttpResponse:
        return self.one_of(active_images(), "image", image_id, outputs.image)


class Shapes(Endpoint):
    @route(permission=AUTHENTICATED, verb="shape.listed")
    @shape(summary="List shapes", output=ShapeOutput, listed=True, versioned=True, example=examples.SHAPE)
    def get(self, request: Request) -> HttpResponse:
        """What may be launched now, at which price in your currency, and what of it is free."""
        currency = organization_of(self.actor).currency
        offered = offered_shapes(currency, self.moment)
        return self.tagged(self.whole([outputs.shape(each, currency) for each in offered]))


class Shape(Endpoint):
    @route(permission=AUTHENTICATED, verb="shape.viewed")
    @shape(summary="Show a shape", output=ShapeOutput, versioned=True, example=examples.SHAPE)
    def get(self, request: Request, shape_id: UUID) -> HttpResponse:
        currency = organization_of(self.actor).currency
        for offered in offered_shapes(currency, self.moment):
            if offered.id == shape_id:
                return self.tagged(self.answer(outputs.shape(offered, currency)))
        raise NotFound("shape", shape_id)
