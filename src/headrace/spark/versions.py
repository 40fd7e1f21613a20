"""What the older supported versions of Spark lack.

Differences between versions are here, and in the folders `scala-4.1`, `scala-4.2`, ... of the kernel.
"""

from __future__ import annotations

from dataclasses import dataclass

from headrace.errors import Problem, SetupError
from headrace.spark.kernel_jar import find_spark_home, minor_version, spark_version


@dataclass(frozen=True)
class Feature:
    """A feature that needs a version of Spark."""

    name: str
    since: str

    def problem(self, where: str, version: str | None = None) -> Problem | None:
        """Return the problem with a version of Spark (default: the installed one); None if there is none.

        >>> print(REPARTITIONING.problem("scale", "4.1.4"))
        scale: rewriting state in another number of partitions needs Spark 4.2, this is Spark 4.1.4
          hint: pip install 'pyspark~=4.2.0', and the same version on the cluster
        """
        version = version or spark_version(find_spark_home())
        if _order(minor_version(version)) >= _order(self.since):
            return None
        what = f"{self.name} needs Spark {self.since}, this is Spark {version}"
        return Problem(
            where, what, f"pip install 'pyspark~={self.since}.0', and the same version on the cluster"
        )

    def require(self, where: str) -> None:
        """Raise an error if the installed Spark does not have the feature.

        Raises:
            SetupError: names both versions.
        """
        if problem := self.problem(where):
            raise SetupError.of(problem)


REPARTITIONING = Feature("rewriting state in another number of partitions", "4.2")
REAL_TIME = Feature("real-time mode", "4.2")
REAL_TIME_STATE = Feature("a step with state in real-time mode", "4.3")


def _order(version: str) -> tuple[int, ...]:
    return tuple(map(int, version.split(".")))
