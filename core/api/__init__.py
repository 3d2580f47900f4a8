"""The machinery of the REST API: shapes, pages, versions, rendering. It knows no business."""
