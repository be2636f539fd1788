/** Whether the context may have lost a statement of a person or an agent, by the judgement on its sentences. */
import { namesIn } from '../../domain/text/names.js'
import { numbersIn } from '../../domain/text/numbers.js'
import { statementOf } from '../../domain/text/statements.js'
import { squash } from '../loss-report/find-text.js'
import type { Judgement } from '../loss-report/judge.js'
import { linesOf } from '../loss-report/passages.js'
import { tellingTerms } from '../loss-report/stretches.js'
import type { ReportInput } from '../loss-report/report-input.js'
import { AGENT_DECISION } from '../working-state/agent-items.js'
import { RULE, VALUE } from '../working-state/statements.js'

/**
 * A sentence of which one passage has more of the words is probably said in other words. A rule is shown sooner, since its
 * loss costs more, and a request later.
 */
const mostOverlap = (weight: number): number => (weight >= RULE ? 0.55 : weight >= VALUE ? 0.35 : 0.2)

/** A judgement with its subject: the weight of the statement, and the sentences that were judged. */
export interface JudgedTexts {
  readonly judgement: Judgement
  readonly weight: number
  readonly texts: readonly string[]
}

/** The names and numbers of a sentence. */
const exactParts = (text: string): string[] => {
  const { files, identifiers } = namesIn(text)
  return [...[...files, ...identifiers].map(({ key }) => key), ...numbersIn(text).map((number) => number.text)].map(
    squash,
  )
}

/** Decides whether a context may have lost something. */
export class MissingTexts {
  readonly #lines: readonly string[]
  readonly #context: string
  readonly #terms: ReadonlySet<string>

  constructor(input: ReportInput) {
    const lines = linesOf(input)
    this.#lines = lines.map((line) => line.toLowerCase())
    const context = [...lines, ...input.remaining.map(({ text }) => text)].join('\n')
    this.#context = squash(context)
    this.#terms = new Set(tellingTerms(context))
  }

  isMissing({ judgement: { verdict, why, overlap = 0 }, weight, texts }: JudgedTexts): boolean {
    if (verdict === 'lost' || why === 'opaque') return true
    if (verdict === 'partial') return weight >= RULE
    if (verdict === 'kept') return false
    if (why === 'short') return weight >= AGENT_DECISION && texts.some((text) => this.#lacksWords(text))
    // With another number or name it is another rule, value or decision.
    if (weight >= AGENT_DECISION && texts.some((text) => this.#lacksExact(text))) return true
    if (overlap > mostOverlap(weight)) return false
    return weight >= RULE || (why !== 'script' && !texts.every((text) => this.#hasAllNames(text)))
  }

  /** Whether the context lacks a word of a text that is too short to be recognized in other words. */
  #lacksWords(text: string): boolean {
    return tellingTerms(text).some((term) => !this.#terms.has(term))
  }

  #lacksExact(text: string): boolean {
    return exactParts(text).some((part) => !this.#context.includes(part))
  }

  /** Whether a line of the summary has all names and numbers of a text, and so probably its sense. */
  #hasAllNames(text: string): boolean {
    const { distinctive } = statementOf(text)
    return distinctive.size > 0 && this.#lines.some((line) => [...distinctive].every((each) => line.includes(each)))
  }
}
