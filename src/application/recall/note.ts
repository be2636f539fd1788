/** The note that restores an agent after a compaction: the most important entries within a limit of tokens. */
import { defaultEstimator } from '../../domain/values/tokens.js'
import { NOTE_BEGINNING, RECALL_SECTIONS, type RecallSection } from '../../domain/values/recall-note.js'
import { squash } from '../loss-report/find-text.js'
import type { RecallEntry } from './entries.js'

/** A note for an agent. */
export interface RecallNote {
  /** The text for the agent; empty if its context misses nothing. */
  readonly text: string
  /** Its length in tokens, estimated. */
  readonly tokens: number
  /** The entries in the text, in its order. */
  readonly entries: readonly RecallEntry[]
  /** The number of entries that the limit left out, by section. */
  readonly omitted: Readonly<Partial<Record<RecallSection, number>>>
}

const SECTION_TITLES: Readonly<Record<RecallSection, string>> = {
  rules: 'Rules, refusals and corrections of the user',
  work: 'State of the work',
  words: 'What the user said',
  decisions: 'Decisions',
  facts: 'Facts',
  results: 'Results that still hold',
  errors: 'Errors not to repeat',
  files: 'Changed files',
}
const HEAD = `${NOTE_BEGINNING} after its context was compacted. It has only what your context lacks. Quotations are original words; r12 is revision 12 of the log.`

/** Added if the context has a summary that the ledger cannot read. */
const SUMMARY_UNKNOWN = 'The summary in your context cannot be read here, so it may have some of this.'

const lineOf = ({ text, revision }: RecallEntry): string =>
  `- ${text}${revision === undefined ? '' : ` (r${String(revision)})`}`

/** The letters of what an entry quotes. */
const lettersOf = ({ text }: RecallEntry): string => squash(/“([^]*)”$/u.exec(text)?.[1] ?? text)

const tokensOf = (text: string): number => defaultEstimator.text(`${text}\n`)

/** Chooses entries within a limit. */
class Choice {
  readonly #chosen = new Set<RecallEntry>()
  readonly #titled = new Set<RecallSection>()
  readonly #letters: string[] = []
  #tokens: number

  constructor(
    private readonly limit: number,
    head: string,
  ) {
    this.#tokens = tokensOf(head)
  }

  /** Takes entries while they fit. A long one is skipped; a shorter one after it may fit. */
  take(entries: readonly RecallEntry[]): void {
    for (const each of entries) {
      const { section } = each
      if (this.#chosen.has(each) || this.#isSaid(each)) continue
      const title = this.#titled.has(section) ? 0 : tokensOf(`\n${SECTION_TITLES[section]}`)
      const tokens = tokensOf(lineOf(each)) + title
      if (this.#tokens + tokens > this.limit) continue
      this.#chosen.add(each)
      this.#letters.push(lettersOf(each))
      this.#titled.add(section)
      this.#tokens += tokens
    }
  }

  /** Whether a chosen entry already has the words of another one. */
  #isSaid(each: RecallEntry): boolean {
    const letters = lettersOf(each)
    return this.#letters.some((chosen) => chosen.includes(letters))
  }

  has(each: RecallEntry): boolean {
    return this.#chosen.has(each)
  }
}

/**
 * The note with the most important of some entries.
 * @param entries the most important first
 * @param limit the most tokens that the note may have, estimated
 * @param whole sections that are taken before the others, as far as the limit allows
 * @param summaryUnknown the context has a summary that the ledger cannot read
 */
export function noteOf(
  entries: readonly RecallEntry[],
  limit: number,
  whole: readonly RecallSection[] = [],
  summaryUnknown = false,
): RecallNote {
  const head = summaryUnknown ? `${HEAD} ${SUMMARY_UNKNOWN}` : HEAD
  const choice = new Choice(limit, head)
  choice.take(entries.filter(({ section }) => whole.includes(section)))
  choice.take(entries)
  // Within a section the oldest comes first; rules of the settings come before all.
  const chosen = entries.filter((each) => choice.has(each)).toSorted((a, b) => (a.revision ?? -1) - (b.revision ?? -1))
  const parts = RECALL_SECTIONS.flatMap((section) => {
    const lines = chosen.filter((each) => each.section === section).map(lineOf)
    return lines.length === 0 ? [] : [`${SECTION_TITLES[section]}\n${lines.join('\n')}`]
  })
  const text = parts.length === 0 ? '' : `${[head, ...parts].join('\n\n')}\n`
  const omitted: Partial<Record<RecallSection, number>> = {}
  for (const { section } of entries.filter((each) => !choice.has(each))) omitted[section] = (omitted[section] ?? 0) + 1
  return {
    text,
    tokens: text === '' ? 0 : defaultEstimator.text(text),
    entries: RECALL_SECTIONS.flatMap((section) => chosen.filter((each) => each.section === section)),
    omitted,
  }
}
