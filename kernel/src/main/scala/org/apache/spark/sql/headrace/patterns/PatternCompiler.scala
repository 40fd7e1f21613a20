package org.apache.spark.sql.headrace.patterns

import scala.collection.mutable

/** What an element of a group must know of the group around it. */
private final class EnclosingGroup(val element: PatternElement, val alternatives: Boolean) {
  /** Whether the group's first round is being built: later rounds follow the group's own repeats. */
  var firstRound = true
}

/**
 * Makes the automaton of a pattern, from its end to its beginning, with Flink CEP's meaning.
 *
 * An element becomes a state that takes its row on to the state after it (its sink). What may lie between becomes an
 * edge that ignores, an optional element an edge that proceeds, `not_followed_by` an edge to a stop state on all states
 * it lies before. Repeats are copies in a row, or one state that takes into itself.
 */
final class PatternCompiler(spec: PatternSpec) {
  private val states = mutable.ArrayBuffer.empty[AutomatonState]
  private val stops = mutable.HashMap.empty[Int, AutomatonState]
  /** For the sink of a greedy loop that an `until` ends: the sink as it was before it waited for the loop's end. */
  private val ungreedy = mutable.HashMap.empty[AutomatonState, AutomatonState]

  def automaton: Automaton = {
    val end = state(StateKind.Final, -1)
    val start = sequence(spec.elements, end, None, None)
    new Automaton(states.toVector, start)
  }

  private def state(kind: StateKind.Value, step: Int): AutomatonState = {
    val made = new AutomatonState(states.size, kind, step)
    states += made
    made
  }

  /** The first state of elements that lead to a sink; `after` is the element that follows them all. */
  private def sequence(
      elements: IndexedSeq[PatternElement], sink: AutomatonState, around: Option[EnclosingGroup], after: Option[PatternElement]): AutomatonState =
    elements.indices.foldRight(sink) { (i, next) =>
      new ElementCompiler(elements, i, around, if (i + 1 < elements.size) Some(elements(i + 1)) else after).states(next)
    }

  /** One element where it stands. */
  private final class ElementCompiler(elements: IndexedSeq[PatternElement], index: Int, around: Option[EnclosingGroup], after: Option[PatternElement]) {
    private val element = elements(index)
    private val own = new EnclosingGroup(element, element.body.isInstanceOf[Alternatives])
    private val step = element.body match {
      case ElementStep(number, _) => number
      case _ => -1
    }
    private val head = index == 0 && around.isDefined

    def states(sink: AutomatonState): AutomatonState = element.contiguity match {
      case Contiguity.NotFollowedBy => absent(sink)
      case Contiguity.NotNext => notNext(sink)
      case _ => positive(sink)
    }

    /** At the end of a pattern, a state that waits for the time to be up; elsewhere other states stop. */
    private def absent(sink: AutomatonState): AutomatonState =
      if (!sink.isFinal || (spec.within.isEmpty && spec.between.isEmpty)) sink
      else {
        val pending = state(StateKind.Pending, -1)
        pending.proceed(stop(step, taking), taking)
        pending.ignore(pending, NotTest(taking))
        addStops(pending)
        pending
      }

    private def notNext(sink: AutomatonState): AutomatonState = {
      val waiting = state(StateKind.Normal, -1)
      // At the end the next row is passed over into the match's completion, for it is not part of it.
      if (sink.isFinal) waiting.ignore(sink, NotTest(taking)) else waiting.proceed(sink, NotTest(taking))
      waiting.proceed(stop(step, taking), taking)
      waiting
    }

    private def positive(sink: AutomatonState): AutomatonState = {
      val made =
        if (element.looping) {
          own.firstRound = false
          val loop = looping(withoutNots(sink))
          own.firstRound = true
          repeated(loop, sink, element.from, element.from)
        } else if (!element.once) repeated(sink, sink, element.from, element.to.get)
        else single(sink, sink, taking, skipping, element.optional)
      addStops(made)
      made
    }

    /** `from` to `to` states in a row; those past `from` may be left out. */
    private def repeated(sink: AutomatonState, proceed: AutomatonState, from: Int, to: Int): AutomatonState = {
      own.firstRound = false
      val ignore = lasting(unless(betweenRepeats))
      val take = unlessUntil(taking)
      if (element.greedy && from != to) {
        if (element.until.isDefined) ungreedy(sink) = copied(sink)
        patient(sink, take)
      }
      var last = sink
      val patience = Option.when(element.inner == Contiguity.FollowedByAny)(take)
      for (_ <- from until to) {
        last = single(last, proceed, take and recent, ignore, optional = true, patience)
        addFollowingStop(last)
      }
      for (_ <- 1 until from) {
        last = single(last, null, take and recent, ignore, optional = false)
        addFollowingStop(last)
      }
      own.firstRound = true
      // As in Flink, the first of the repeats too comes soon after the row before it, unless the step may be left out.
      val soon = if (element.optional) AlwaysTrue else recent
      single(last, proceed, take and soon, skipping.map(_ and soon), element.optional)
    }

    /** A state that takes one row, or the states of a whole group. */
    private def single(
        sink: AutomatonState, proceed: AutomatonState, take: EdgeTest, ignore: Option[EdgeTest], optional: Boolean,
        patience: Option[EdgeTest] = None): AutomatonState =
      element.body match {
        case ElementGroup(inner) =>
          val first = sequence(inner, sink, Some(own), after)
          if (optional) first.proceed(proceed, always)
          first
        case Alternatives(alternatives) => choice(alternatives, sink, Option.when(optional)(proceed), ignore)
        case _: ElementStep => leaf(sink, proceed, take, ignore, optional, patience)
      }

    /** As in Flink, combinations forget the gap (`patience`) in a repeat that may be left out, once it passed over a row. */
    private def leaf(
        sink: AutomatonState, proceed: AutomatonState, take: EdgeTest, ignore: Option[EdgeTest], optional: Boolean,
        patience: Option[EdgeTest]): AutomatonState = {
      val made = state(StateKind.Normal, step)
      val next = withoutNots(sink) // a row that is taken ends what a `not` before it forbids
      made.take(next, take)
      if (optional) leaveOut(made, proceed)
      ignore.foreach { test =>
        if (!optional && !headOfOptionalGroup) made.ignore(made, test)
        else {
          // Once a row was passed over, leaving the element out is the way of the states after it.
          val waiting = state(StateKind.Normal, step)
          waiting.take(next, patience.getOrElse(take))
          waiting.ignore(waiting, patience.flatMap(_ => unless(betweenRepeats)).getOrElse(test))
          addStops(waiting)
          made.ignore(waiting, test)
        }
      }
      made
    }

    private def leaveOut(made: AutomatonState, proceed: AutomatonState): Unit = element.until match {
      case Some(until) if element.greedy =>
        made.proceed(ungreedy.getOrElse(proceed, proceed), always and until)
        made.proceed(proceed, always and NotTest(until))
      case _ => made.proceed(proceed, always)
    }

    /** A state that goes on with the row into each alternative. */
    private def choice(
        alternatives: IndexedSeq[IndexedSeq[PatternElement]], sink: AutomatonState, proceed: Option[AutomatonState],
        ignore: Option[EdgeTest]): AutomatonState = {
      val firsts = alternatives.map(one => sequence(one, ownSink(one, sink), Some(own), after))
      def fork(): AutomatonState = {
        val made = state(StateKind.Normal, -1)
        firsts.foreach(made.proceed(_, always))
        made
      }
      val made = fork()
      proceed.foreach(made.proceed(_, always))
      ignore.foreach { test =>
        if (proceed.isEmpty && !headOfOptionalGroup) made.ignore(made, test)
        else {
          val waiting = fork()
          waiting.ignore(waiting, test)
          addStops(waiting)
          made.ignore(waiting, test)
        }
      }
      made
    }

    /** A greedy end of one alternative must not hold back the others, so it gets a copy of the state after them. */
    private def ownSink(alternative: IndexedSeq[PatternElement], sink: AutomatonState): AutomatonState =
      if (sink.edges.nonEmpty && endsGreedy(alternative)) copied(sink) else sink

    private def looping(sink: AutomatonState): AutomatonState = element.body match {
      case ElementGroup(inner) =>
        val again = state(StateKind.Normal, -1)
        val first = sequence(inner, again, Some(own), after)
        first.proceed(sink, always)
        again.proceed(first, always)
        first
      case Alternatives(alternatives) =>
        val again = state(StateKind.Normal, -1)
        val first = choice(alternatives, again, Some(sink), lasting(unless(betweenRepeats)))
        again.proceed(first, always)
        first
      case _: ElementStep => loop(sink)
    }

    private def loop(sink: AutomatonState): AutomatonState = {
      val take = unlessUntil(taking) and recent
      val made = state(StateKind.Normal, step)
      if (element.greedy) {
        element.until.foreach { until =>
          ungreedy(sink) = copied(sink)
          made.proceed(ungreedy(sink), always and until)
        }
        made.proceed(sink, element.until.fold(always)(until => always and NotTest(until)))
        patient(sink, taking)
      } else made.proceed(sink, always)
      made.take(made, take)
      addFollowingStop(made)
      lasting(unless(betweenRepeats)).foreach { test =>
        val waiting = state(StateKind.Normal, step)
        waiting.take(made, take)
        waiting.ignore(waiting, test)
        made.ignore(waiting, test)
        addFollowingStop(waiting)
      }
      made
    }

    /** The element's own condition; of a group or alternatives, that of any row that may begin them. */
    private def condition: EdgeTest = beginning(element)

    private def groupUntil: Option[EdgeTest] = around.flatMap(_.element.until)
    private def taking: EdgeTest = groupUntil.fold(condition)(until => NotTest(until) and condition)
    private def always: EdgeTest = groupUntil.fold[EdgeTest](AlwaysTrue)(NotTest(_))
    private def recent: EdgeTest = element.gap.fold[EdgeTest](AlwaysTrue)(WithinGap(_))
    private def unlessUntil(test: EdgeTest): EdgeTest = element.until.fold(test)(until => NotTest(until) and test)
    private def unless(test: Option[EdgeTest]): Option[EdgeTest] = test.map(unlessUntil)
    private def lasting(test: Option[EdgeTest]): Option[EdgeTest] = test.map(_ and recent)

    /** Which rows may be passed over before the element. */
    private def skipping: Option[EdgeTest] = around match {
      case Some(group) if head && group.alternatives => None // the choice passes over rows for all of them
      case Some(group) if head =>
        passing(if (group.firstRound) group.element.contiguity else group.element.inner)
      case _ => passing(element.contiguity)
    }

    /** Which rows may be passed over between its repeats. */
    private def betweenRepeats: Option[EdgeTest] = around match {
      case Some(group) if head && !group.alternatives => passing(group.element.inner)
      case _ => passing(element.inner)
    }

    private def passing(contiguity: Contiguity.Value): Option[EdgeTest] = (contiguity match {
      case Contiguity.FollowedBy => Some(NotTest(condition))
      case Contiguity.FollowedByAny => Some(AlwaysTrue)
      case _ => None
    }).map(test => groupUntil.fold[EdgeTest](test)(until => NotTest(until) and test))

    private def headOfOptionalGroup: Boolean =
      around.exists(group => head && group.firstRound && group.element.optional)

    /** The `not_followed_by` elements just before this one; optional ones between let them reach further. */
    private def nots: Seq[PatternElement] =
      elements.take(index).reverseIterator
        .takeWhile(e => e.optional || e.contiguity == Contiguity.NotFollowedBy)
        .filter(_.contiguity == Contiguity.NotFollowedBy).toVector

    private def addStops(to: AutomatonState): Unit = nots.foreach(addStop(to, _))

    private def addFollowingStop(to: AutomatonState): Unit =
      after.filter(_.contiguity == Contiguity.NotFollowedBy).foreach(addStop(to, _))

    private def addStop(to: AutomatonState, not: PatternElement): Unit = {
      val test = groupUntil.fold(beginning(not))(until => NotTest(until) and beginning(not))
      to.proceed(stop(stepOf(not), test), test)
    }

    /** The sink without the stops of the nots before this element, if it is optional and has some. */
    private def withoutNots(sink: AutomatonState): AutomatonState = {
      val over = nots.map(stepOf).toSet
      if (over.isEmpty || !element.optional) sink else stripped(sink, over)
    }

    private def stripped(sink: AutomatonState, over: Set[Int]): AutomatonState = {
      val copy = state(sink.kind, sink.step)
      sink.edges.toVector.foreach { edge =>
        if (edge.action != EdgeAction.Proceed) copy.add(edge.action, if (edge.target eq sink) copy else edge.target, edge.test)
        else if (!edge.target.isStop) copy.proceed(stripped(edge.target, over), edge.test)
        else if (!over(edge.target.step)) copy.proceed(edge.target, edge.test)
      }
      copy
    }
  }

  /** The condition of a row that may begin an element. */
  private def beginning(element: PatternElement): EdgeTest = element.body match {
    case ElementStep(_, condition) => condition
    case ElementGroup(inner) => any(firsts(inner))
    case Alternatives(alternatives) => any(alternatives.flatMap(firsts))
  }

  private def firsts(elements: IndexedSeq[PatternElement]): Seq[EdgeTest] = {
    val optional = elements.takeWhile(_.optional).size
    elements.take(optional + 1).filterNot(_.negated).map(beginning)
  }

  private def endsGreedy(elements: IndexedSeq[PatternElement]): Boolean = elements.lastOption.exists { last =>
    last.greedy || (last.body match {
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

  /** One stop state for each `not`, however many states lead there. */
  private def stop(step: Int, test: EdgeTest): AutomatonState = stops.getOrElseUpdate(step, {
    val made = state(StateKind.Stop, step)
    made.take(made, test)
    made
  })

  private def copied(from: AutomatonState): AutomatonState = {
    val copy = state(from.kind, from.step)
    from.edges.foreach(edge => copy.add(edge.action, if (edge.target eq from) copy else edge.target, edge.test))
    copy
  }

  /** A state after a greedy loop moves on only with rows that the loop would not take. */
  private def patient(sink: AutomatonState, taken: EdgeTest): Unit = sink.edges.foreach(edge => edge.test = edge.test and NotTest(taken))
}
