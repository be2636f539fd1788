/**
 * Finds the statements that a later message of the user corrected, took back, or said again. The rule is that of the
 * working state. A later message is compared with the earlier statements that share most words with it, so that the time
 * grows with the number of messages, and not with its square.
 */
import { headOf } from '../../domain/text/clean-text.js'
import { refersTo, statementOf, type Statement } from '../../domain/text/statements.js'
import type { StateItem } from '../../domain/events/index.js'
import type { ReportMessage } from '../loss-report/report-input.js'
import { Corrections } from '../working-state/corrections.js'
import { CORRECTION, isByUser } from '../working-state/statements.js'
import { shortened } from './shortened.js'
import type { StatedItem } from './stated-items.js'

/** The most statements that a later message is compared with. */
const MOST_COMPARED = 24
/** A word in more statements selects none. */
const MOST_SHARING = 200
/** As much of a message as the working state keeps. */
const MOST_CHARACTERS = 480
const LEAST_TERMS = 4

/** The later messages about a statement. */
export interface Later {
  readonly takenBackAt?: ReportMessage
  readonly saidAgainAt?: ReportMessage
}

/** A statement in the form that the rules compare. */
interface Compared {
  readonly item: StatedItem
  readonly group: readonly StateItem[]
  readonly form: Statement
}

function comparedForm(item: StatedItem): Compared {
  const { text, weight, message } = item
  const group: readonly StateItem[] = [
    {
      id: message.messageId,
      kind: 'statement',
      by: 'user',
      text: shortened(text, MOST_CHARACTERS),
      sourceRevisions: [message.revision],
      // A request without lasting weight can be taken back too.
      weight: Math.max(weight, CORRECTION),
    },
  ]
  return { item, group, form: statementOf(item.words) }
}

class EarlierStatements {
  readonly #byTerm = new Map<string, Compared[]>()
  readonly #all: readonly Compared[]
  #lastWithDigit = -1
  readonly #added: Compared[] = []

  constructor(items: readonly StatedItem[]) {
    this.#all = items
      .filter(({ kind }) => kind !== 'task')
      .map(comparedForm)
      .toSorted((a, b) => a.item.message.revision - b.item.message.revision)
  }

  /** The statements before a message that share most words with it. */
  before({ revision }: ReportMessage, { terms }: Statement): readonly Compared[] {
    this.#addUntil(revision)
    const shared = new Map<Compared, number>()
    for (const term of terms)
      for (const each of (this.#byTerm.get(term) ?? []).slice(-MOST_SHARING))
        shared.set(each, (shared.get(each) ?? 0) + 1)
    const nearest = [...shared]
      .toSorted(([a, countA], [b, countB]) => countB - countA || b.item.message.revision - a.item.message.revision)
      .slice(0, MOST_COMPARED)
      .map(([each]) => each)
    const last = this.#added[this.#lastWithDigit]
    const candidates = last === undefined || nearest.includes(last) ? nearest : [...nearest, last]
    return candidates.toSorted((a, b) => a.item.message.revision - b.item.message.revision)
  }

  #addUntil(revision: number): void {
    for (let at = this.#added.length; at < this.#all.length; at += 1) {
      const next = this.#all[at]
      if (next === undefined || next.item.message.revision >= revision) return
      this.#added.push(next)
      if (/\d/u.test(next.item.words)) this.#lastWithDigit = at
      for (const term of next.form.terms) {
        const known = this.#byTerm.get(term)
        if (known === undefined) this.#byTerm.set(term, [next])
        else known.push(next)
      }
    }
  }
}

/**
 * Finds later messages about statements.
 * @param messages all messages from the removed ones on, in order
 * @param after ids of the messages after the compaction: only these say a lost statement again
 */
export function laterOn(
  items: readonly StatedItem[],
  messages: readonly ReportMessage[],
  after: ReadonlySet<string>,
): ReadonlyMap<StatedItem, Later> {
  const earlier = new EarlierStatements(items)
  const corrections = new Corrections()
  const found = new Map<StatedItem, Later>()
  for (const message of messages) {
    if (!isByUser(message)) continue
    const text = shortened(headOf(message.ownText, MOST_CHARACTERS * 4), MOST_CHARACTERS)
    const form = statementOf(text)
    const candidates = earlier.before(message, form)
    const repeatedStatement = after.has(message.messageId)
      ? candidates.find((each) => each.form.terms.size >= LEAST_TERMS && refersTo(form, each.form))
      : undefined
    if (repeatedStatement !== undefined) {
      const known = found.get(repeatedStatement.item)
      found.set(repeatedStatement.item, { ...known, saidAgainAt: known?.saidAgainAt ?? message })
      continue
    }
    const corrected = corrections.correctedBy(
      text,
      candidates.map(({ group }) => group),
    )
    const compared = candidates.find(({ group }) => group === corrected)
    if (compared !== undefined) found.set(compared.item, { ...found.get(compared.item), takenBackAt: message })
  }
  return found
}
