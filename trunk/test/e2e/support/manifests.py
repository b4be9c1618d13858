"""Reads the manifests of packaging/kubernetes/ as kustomize puts them together, as far as ours use it, and checks them against
Kubernetes' own schemas (PyPI's kubernetes-validate has them; no network)."""

import copy

import kubernetes_validate
import yaml

KUBERNETES = "1.30"


def documents(path):
    return [document for document in yaml.safe_load_all(path.read_text()) if document]


def merged(value, patch):
    """A strategic merge: entries of a list that have names are the same where the names are."""
    if isinstance(value, dict) and isinstance(patch, dict):
        return {**value, **{key: merged(value[key], patch[key]) if key in value else patch[key] for key in patch}}
    if isinstance(value, list) and isinstance(patch, list) and all(isinstance(each, dict) and "name" in each for each in value + patch):
        new = {each["name"]: each for each in patch}
        kept = [merged(each, new.pop(each["name"])) if each["name"] in new else each for each in value]
        return kept + list(new.values())
    return copy.deepcopy(patch)


def build(folder):
    """The resources of a folder with a kustomization, by (kind, name); fails for a file that it does not list."""
    plan = yaml.safe_load((folder / "kustomization.yaml").read_text())
    patches = [patch["path"] for patch in plan.get("patches", [])]
    listed = {name for name in plan["resources"] if not name.startswith("../")} | set(patches)
    assert listed == {path.name for path in folder.glob("*.yaml")} - {"kustomization.yaml"}, f"{folder}: files and list differ"
    found = {}
    for name in plan["resources"]:
        each = folder / name
        for resource in build(each.resolve()).values() if each.is_dir() else documents(each):
            found[resource["kind"], resource["metadata"]["name"]] = resource
    for generated in plan.get("configMapGenerator", []):
        data = {name: (folder / name).read_text() for name in generated["files"]}
        found["ConfigMap", generated["name"]] = {"apiVersion": "v1", "kind": "ConfigMap",
                                                 "metadata": {"name": generated["name"]}, "data": data}
    for patch in patches:
        for change in documents(folder / patch):
            key = change["kind"], change["metadata"]["name"]
            found[key] = merged(found[key], change)
    return found


def check(resource):
    """Raises kubernetes_validate.ValidationError for a field that Kubernetes does not know, a wrong type, a missing field."""
    kubernetes_validate.validate(resource, KUBERNETES, strict=True)
