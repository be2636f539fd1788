/** The texts of a context that can prove an item: the lines of the summary and the remaining messages. */
import { hasCue } from '../../domain/text/cues.js'
import { stemOf } from '../../domain/text/stem.js'
import { finderOf, partsOfName, squash, stemsIn } from './find-text.js'
import type { Item } from './items.js'
import { isGeneral, linesOf, remainingPassages, summaryPassages, type Passage, type PassageSource } from './passages.js'
import type { Proof } from './proofs.js'
import type { ReportInput } from './report-input.js'

/** Summaries shorten the subject of a call. */
export const MOST_SUBJECT_LETTERS = 36
/** The fix of an error is in the passages directly after it, or missing. */
const PASSAGES_OF_A_FIX = 4
const MOST_PASSAGES_OF_A_LINE = 200

const SCRIPTS = [
  /\p{sc=Latin}/gu,
  /[\p{sc=Han}\p{sc=Hiragana}\p{sc=Katakana}]/gu,
  /\p{sc=Hangul}/gu,
  /\p{sc=Cyrillic}/gu,
] as const
const lettersOf = (text: string): number[] => SCRIPTS.map((script) => text.match(script)?.length ?? 0)

/** Finds texts, names and words in a context. */
export class Evidence {
  readonly lines: readonly string[]
  readonly passages: readonly Passage[]
  private readonly inSummary: readonly Passage[]
  private readonly findLine: (letters: string) => PassageSource | undefined
  private readonly findRemaining: (letters: string) => PassageSource | undefined
  /** Stems in the summary, with the passages that have them. */
  private readonly words: ReturnType<typeof stemsIn>
  /** Letters of the summary by script. */
  private readonly script: readonly number[]
  /** The first passage of each line of the summary. */
  private readonly firstPassages: ReadonlyMap<number, number>

  constructor(input: ReportInput) {
    const lines = linesOf(input)
    const inRemaining = remainingPassages(input.remaining)
    this.lines = lines
    this.inSummary = summaryPassages(lines)
    this.passages = [...this.inSummary, ...inRemaining]
    this.findLine = finderOf(
      lines.flatMap((text, at) => (isGeneral(text) ? [] : [{ text, source: { kind: 'line', line: at + 1, text } }])),
    )
    this.findRemaining = finderOf(inRemaining)
    this.words = stemsIn(this.inSummary)
    this.script = lettersOf(lines.join('\n'))
    this.firstPassages = new Map(
      this.inSummary.map(({ source }, at) => [source.kind === 'line' ? source.line : 0, at] as const).toReversed(),
    )
  }

  findAnywhere(letters: string): PassageSource | undefined {
    return this.findLine(letters) ?? this.findRemaining(letters)
  }

  lineWith(text: string): PassageSource | undefined {
    return this.findLine(squash(text))
  }

  isOtherScript(text: string): boolean {
    const letters = lettersOf(text)
    const mainScript = letters.indexOf(Math.max(...letters))
    const all = this.script.reduce((sum, count) => sum + count, 0)
    return (this.script[mainScript] ?? 0) < all * 0.15
  }

  /** Whether one passage has all words of a name, in any order. */
  hasAllParts(name: string): boolean {
    const [first, ...others] = partsOfName(name)
      .map((part) => this.words.get(stemOf(part)) ?? new Set<number>())
      .toSorted((a, b) => a.size - b.size)
    return [...(first ?? [])].some((at) => others.every((other) => other.has(at)))
  }

  /** The passages of the summary from a proof on that may still be about the same thing. */
  passagesFrom(proof: Proof, from: string): string {
    if (proof.kind !== 'summary') return ''
    const letters = squash(from)
    const first = this.firstPassages.get(proof.line) ?? 0
    const nextPassages = this.inSummary.slice(first, first + MOST_PASSAGES_OF_A_LINE)
    const at = nextPassages.findIndex(
      ({ text, source }) =>
        source.kind === 'line' && source.line === proof.line && letters.startsWith(squash(text).slice(0, 12)),
    )
    return this.inSummary
      .slice(first + Math.max(0, at), first + Math.max(0, at) + PASSAGES_OF_A_FIX)
      .map(({ text }) => text)
      .join('\n')
  }

  /** Whether the summary reports that the call failed, without the details. */
  reportsFailure({ work }: Item): boolean {
    const subject = squash(work?.query.subject ?? '').slice(0, MOST_SUBJECT_LETTERS)
    return this.lines.some((line, at) => {
      const about = squash(line).includes(subject)
      return about && subject !== '' && hasCue(`${line} ${this.lines[at + 1] ?? ''}`, 'error')
    })
  }
}
