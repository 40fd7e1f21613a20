package org.apache.spark.sql.headrace.patterns

import scala.collection.mutable

private final class EnclosingGroup(val element: PatternElement, val alternatives: Boolean) {
  /** True while the group's first round is built; later rounds follow the group's repeats. */
  var firstRound = true
}

/**
 * Compiles a pattern to an automaton, back to front, with the semantics of Flink CEP.
 *
 * An element becomes a state that takes its row to the next state (its sink). Gaps become ignore edges,
 * optional elements proceed edges, and `not_followed_by` an edge to a stop state on all states it precedes.
 * Repeats are copies in sequence, or one looping state.
 */
final class PatternCompiler(spec: PatternSpec) {
  private val states = mutable.ArrayBuffer.empty[AutomatonState]
  private val stops = mutable.HashMap.empty[Int, AutomatonState]

  /** For the sink of a greedy loop with `until`: a copy of the sink without the loop's exclusions. */
  private val ungreedy = mutable.HashMap.empty[AutomatonState, AutomatonState]

  def automaton: Automaton = {
    val end = state(StateKind.Final, -1)
    val start = sequence(spec.elements, end, None, None)
    new Automaton(states.toVector, start)
  }

  private def state(kind: StateKind.Value, step: Int): AutomatonState = {
    val newState = new AutomatonState(states.size, kind, step)
    states += newState
    newState
  }

  /** First state of a sequence that leads to `sink`; `after` is the element that follows it. */
  private def sequence(elements: IndexedSeq[PatternElement], sink: AutomatonState,
      enclosing: Option[EnclosingGroup], after: Option[PatternElement]): AutomatonState = elements.indices
    .foldRight(sink) { (i, next) =>
      new ElementCompiler(elements, i, enclosing, if (i + 1 < elements.size) Some(elements(i + 1)) else after)
        .states(next)
    }

  private final class ElementCompiler(elements: IndexedSeq[PatternElement], index: Int,
      enclosing: Option[EnclosingGroup], after: Option[PatternElement]) {
    private val element = elements(index)
    private val own = new EnclosingGroup(element, element.body.isInstanceOf[Alternatives])
    private val step = element.body match {
      case ElementStep(number, _) => number
      case _ => -1
    }
    private val head = index == 0 && enclosing.isDefined

    def states(sink: AutomatonState): AutomatonState = element.contiguity match {
      case Contiguity.NotFollowedBy => notFollowedBy(sink)
      case Contiguity.NotNext => notNext(sink)
      case _ => positive(sink)
    }

    /** At the end of a pattern, waits for the timeout; elsewhere the preceding states get stop edges. */
    private def notFollowedBy(sink: AutomatonState): AutomatonState =
      if (!sink.isFinal || (spec.within.isEmpty && spec.between.isEmpty)) sink
      else {
        val pending = state(StateKind.Pending, -1)
        pending.proceed(stop(step, takeTest), takeTest)
        pending.ignore(pending, NotTest(takeTest))
        addStops(pending)
        pending
      }

    private def notNext(sink: AutomatonState): AutomatonState = {
      val waiting = state(StateKind.Normal, -1)
      // At the end, the next row completes the match without being part of it.
      if (sink.isFinal) waiting.ignore(sink, NotTest(takeTest)) else waiting.proceed(sink, NotTest(takeTest))
      waiting.proceed(stop(step, takeTest), takeTest)
      waiting
    }

    private def positive(sink: AutomatonState): AutomatonState = {
      val newState =
        if (element.looping) {
          own.firstRound = false
          val loop = looping(withoutNots(sink))
          own.firstRound = true
          repeat(loop, sink, element.from, element.from)
        } else if (!element.once) repeat(sink, sink, element.from, element.to.get)
        else single(sink, sink, takeTest, ignoreBefore, element.optional)
      addStops(newState)
      newState
    }

    /** `from` to `to` states in sequence; those past `from` are optional. */
    private def repeat(sink: AutomatonState, proceed: AutomatonState, from: Int, to: Int): AutomatonState = {
      own.firstRound = false
      val ignore = andWithinGap(unless(ignoreBetween))
      val take = unlessUntil(takeTest)
      if (element.greedy && from != to) {
        if (element.until.isDefined) ungreedy(sink) = copyOf(sink)
        excludeTaken(sink, take)
      }
      var last = sink
      val ungapped = Option.when(element.inner == Contiguity.FollowedByAny)(take)
      for (_ <- from until to) {
        last = single(last, proceed, take and withinGap, ignore, optional = true, ungapped)
        addFollowingStop(last)
      }
      for (_ <- 1 until from) {
        last = single(last, null, take and withinGap, ignore, optional = false)
        addFollowingStop(last)
      }
      own.firstRound = true
      // As in Flink, the gap limit also applies to the first repeat unless the step is optional.
      val soon = if (element.optional) AlwaysTrue else withinGap
      single(last, proceed, take and soon, ignoreBefore.map(_ and soon), element.optional)
    }

    /** A state that takes one row, or the states of a group. */
    private def single(sink: AutomatonState, proceed: AutomatonState, take: EdgeTest,
        ignore: Option[EdgeTest], optional: Boolean, ungapped: Option[EdgeTest] = None): AutomatonState =
      element.body match {
        case ElementGroup(inner) =>
          val first = sequence(inner, sink, Some(own), after)
          if (optional) first.proceed(proceed, always)
          first
        case Alternatives(alternatives) => choice(alternatives, sink, Option.when(optional)(proceed), ignore)
        case _: ElementStep => leaf(sink, proceed, take, ignore, optional, ungapped)
      }

    /** As in Flink, `combinations` lift the gap limit (`ungapped`) once an optional repeat ignored a row. */
    private def leaf(sink: AutomatonState, proceed: AutomatonState, take: EdgeTest, ignore: Option[EdgeTest],
        optional: Boolean, ungapped: Option[EdgeTest]): AutomatonState = {
      val newState = state(StateKind.Normal, step)
      val next = withoutNots(sink) // taking a row ends the range of a preceding `not`
      newState.take(next, take)
      if (optional) leaveOut(newState, proceed)
      ignore.foreach { test =>
        if (!optional && !headOfOptionalGroup) newState.ignore(newState, test)
        else {
          // After an ignored row, skipping the element is left to the later states.
          val waiting = state(StateKind.Normal, step)
          waiting.take(next, ungapped.getOrElse(take))
          waiting.ignore(waiting, ungapped.flatMap(_ => unless(ignoreBetween)).getOrElse(test))
          addStops(waiting)
          newState.ignore(waiting, test)
        }
      }
      newState
    }

    private def leaveOut(newState: AutomatonState, proceed: AutomatonState): Unit = element.until match {
      case Some(until) if element.greedy =>
        newState.proceed(ungreedy.getOrElse(proceed, proceed), always and until)
        newState.proceed(proceed, always and NotTest(until))
      case _ => newState.proceed(proceed, always)
    }

    /** A state that proceeds into each alternative. */
    private def choice(alternatives: IndexedSeq[IndexedSeq[PatternElement]], sink: AutomatonState,
        proceed: Option[AutomatonState], ignore: Option[EdgeTest]): AutomatonState = {
      val firsts = alternatives.map(elements => sequence(elements, ownSink(elements, sink), Some(own), after))
      def fork(): AutomatonState = {
        val newState = state(StateKind.Normal, -1)
        firsts.foreach(newState.proceed(_, always))
        newState
      }
      val newState = fork()
      proceed.foreach(newState.proceed(_, always))
      ignore.foreach { test =>
        if (proceed.isEmpty && !headOfOptionalGroup) newState.ignore(newState, test)
        else {
          val waiting = fork()
          waiting.ignore(waiting, test)
          addStops(waiting)
          newState.ignore(waiting, test)
        }
      }
      newState
    }

    /** A greedy end of one alternative must not restrict the others, so it gets its own copy of the sink. */
    private def ownSink(alternative: IndexedSeq[PatternElement], sink: AutomatonState): AutomatonState =
      if (sink.edges.nonEmpty && endsGreedy(alternative)) copyOf(sink) else sink

    private def looping(sink: AutomatonState): AutomatonState = element.body match {
      case ElementGroup(inner) =>
        val again = state(StateKind.Normal, -1)
        val first = sequence(inner, again, Some(own), after)
        first.proceed(sink, always)
        again.proceed(first, always)
        first
      case Alternatives(alternatives) =>
        val again = state(StateKind.Normal, -1)
        val first = choice(alternatives, again, Some(sink), andWithinGap(unless(ignoreBetween)))
        again.proceed(first, always)
        first
      case _: ElementStep => loop(sink)
    }

    private def loop(sink: AutomatonState): AutomatonState = {
      val take = unlessUntil(takeTest) and withinGap
      val newState = state(StateKind.Normal, step)
      if (element.greedy) {
        element.until.foreach { until =>
          ungreedy(sink) = copyOf(sink)
          newState.proceed(ungreedy(sink), always and until)
        }
        newState.proceed(sink, element.until.fold(always)(until => always and NotTest(until)))
        excludeTaken(sink, takeTest)
      } else newState.proceed(sink, always)
      newState.take(newState, take)
      addFollowingStop(newState)
      andWithinGap(unless(ignoreBetween)).foreach { test =>
        val waiting = state(StateKind.Normal, step)
        waiting.take(newState, take)
        waiting.ignore(waiting, test)
        newState.ignore(waiting, test)
        addFollowingStop(waiting)
      }
      newState
    }

    private def condition: EdgeTest = startCondition(element)
    private def groupUntil: Option[EdgeTest] = enclosing.flatMap(_.element.until)
    private def takeTest: EdgeTest = groupUntil.fold(condition)(until => NotTest(until) and condition)
    private def always: EdgeTest = groupUntil.fold[EdgeTest](AlwaysTrue)(NotTest(_))
    private def withinGap: EdgeTest = element.gap.fold[EdgeTest](AlwaysTrue)(WithinGap(_))
    private def unlessUntil(test: EdgeTest): EdgeTest = element.until
      .fold(test)(until => NotTest(until) and test)
    private def unless(test: Option[EdgeTest]): Option[EdgeTest] = test.map(unlessUntil)
    private def andWithinGap(test: Option[EdgeTest]): Option[EdgeTest] = test.map(_ and withinGap)

    /** Rows that may be ignored before the element. */
    private def ignoreBefore: Option[EdgeTest] = enclosing match {
      case Some(group) if head && group.alternatives =>
        None // the choice state ignores rows for all alternatives
      case Some(group) if head =>
        ignoreTest(if (group.firstRound) group.element.contiguity else group.element.inner)
      case _ => ignoreTest(element.contiguity)
    }

    /** Rows that may be ignored between repeats. */
    private def ignoreBetween: Option[EdgeTest] = enclosing match {
      case Some(group) if head && !group.alternatives => ignoreTest(group.element.inner)
      case _ => ignoreTest(element.inner)
    }

    private def ignoreTest(contiguity: Contiguity.Value): Option[EdgeTest] = (contiguity match {
      case Contiguity.FollowedBy => Some(NotTest(condition))
      case Contiguity.FollowedByAny => Some(AlwaysTrue)
      case _ => None
    }).map(test => groupUntil.fold[EdgeTest](test)(until => NotTest(until) and test))

    private def headOfOptionalGroup: Boolean = enclosing
      .exists(group => head && group.firstRound && group.element.optional)

    /** The `not_followed_by` elements that apply to this element; they reach across optional elements. */
    private def nots: Seq[PatternElement] = elements.take(index).reverseIterator
      .takeWhile(e => e.optional || e.contiguity == Contiguity.NotFollowedBy)
      .filter(_.contiguity == Contiguity.NotFollowedBy).toVector

    private def addStops(to: AutomatonState): Unit = nots.foreach(addStop(to, _))
    private def addFollowingStop(to: AutomatonState): Unit = after
      .filter(_.contiguity == Contiguity.NotFollowedBy).foreach(addStop(to, _))

    private def addStop(to: AutomatonState, not: PatternElement): Unit = {
      val test = groupUntil.fold(startCondition(not))(until => NotTest(until) and startCondition(not))
      to.proceed(stop(stepOf(not), test), test)
    }

    /** The sink without the stop edges of preceding nots, if the element is optional. */
    private def withoutNots(sink: AutomatonState): AutomatonState = {
      val over = nots.map(stepOf).toSet
      if (over.isEmpty || !element.optional) sink else withoutStops(sink, over)
    }

    private def withoutStops(sink: AutomatonState, over: Set[Int]): AutomatonState = {
      val copy = state(sink.kind, sink.step)
      sink.edges.toVector.foreach { edge =>
        if (edge.action != EdgeAction.Proceed) copy
          .add(edge.action, if (edge.target eq sink) copy else edge.target, edge.test)
        else if (!edge.target.isStop) copy.proceed(withoutStops(edge.target, over), edge.test)
        else if (!over(edge.target.step)) copy.proceed(edge.target, edge.test)
      }
      copy
    }
  }

  private def startCondition(element: PatternElement): EdgeTest = element.body match {
    case ElementStep(_, condition) => condition
    case ElementGroup(inner) => any(firsts(inner))
    case Alternatives(alternatives) => any(alternatives.flatMap(firsts))
  }

  private def firsts(elements: IndexedSeq[PatternElement]): Seq[EdgeTest] = {
    val optional = elements.takeWhile(_.optional).size
    elements.take(optional + 1).filterNot(_.negated).map(startCondition)
  }

  private def endsGreedy(elements: IndexedSeq[PatternElement]): Boolean = elements.lastOption.exists { last =>
    last.greedy ||
    (last.body match {
      case ElementGroup(inner) => endsGreedy(inner)
      case Alternatives(alternatives) => alternatives.exists(endsGreedy)
      case _: ElementStep => false
    })
  }

  private def any(tests: Seq[EdgeTest]): EdgeTest = if (tests.size == 1) tests.head else OrTest(tests)

  private def stepOf(element: PatternElement): Int = element.body match {
    case ElementStep(step, _) => step
    case _ => -1
  }

  /** One shared stop state per `not`. */
  private def stop(step: Int, test: EdgeTest): AutomatonState = stops.getOrElseUpdate(step, {
      val newState = state(StateKind.Stop, step)
      newState.take(newState, test)
      newState
    })

  private def copyOf(from: AutomatonState): AutomatonState = {
    val copy = state(from.kind, from.step)
    from.edges
      .foreach(edge => copy.add(edge.action, if (edge.target eq from) copy else edge.target, edge.test))
    copy
  }

  /** After a greedy loop, only rows that the loop would not take move on. */
  private def excludeTaken(sink: AutomatonState, taken: EdgeTest): Unit = sink.edges
    .foreach(edge => edge.test = edge.test and NotTest(taken))
}
