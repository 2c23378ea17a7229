"""Which of a function's arguments go to the splitter, to `fit` and to the scorer, as scikit-learn has it."""

from __future__ import annotations

from typing import Any

from sklearn import get_config
from sklearn.exceptions import UnsetMetadataPassedError
from sklearn.model_selection._validation import _check_groups_routing_disabled
from sklearn.utils import Bunch
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping, process_routing


def routed(owner: str, estimator, cv, scorer, *, params: dict | None, groups) -> Bunch:
    """`splitter.split`, `estimator.fit` and `scorer.score`: the arguments of each, for the function named `owner`.

    Without metadata routing `params` are those of `fit`, and `groups` that of the splitter.
    """
    _check_groups_routing_disabled(groups)
    params = {} if params is None else params
    if not get_config()["enable_metadata_routing"]:
        return Bunch(splitter=Bunch(split={"groups": groups}), estimator=Bunch(fit=params), scorer=Bunch(score={}))
    router, given = MetadataRouter(owner=owner), lambda callee: MethodMapping().add(caller="fit", callee=callee)
    router.add(splitter=cv, method_mapping=given("split")).add(estimator=estimator, method_mapping=given("fit"))
    if scorer is not None:
        router.add(scorer=scorer, method_mapping=given("score"))
    try:
        found: Any = process_routing(router, "fit", **params)
    except UnsetMetadataPassedError as error:  # the user has called no `fit`
        raise UnsetMetadataPassedError(
            message=str(error).replace(f"{owner}.fit", owner),
            unrequested_params=error.unrequested_params,
            routed_params=error.routed_params,
        ) from None
    if scorer is None:
        found.scorer = Bunch(score={})
    return found
