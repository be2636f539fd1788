/**
 * The explanations of an agent at work, in passages: a sentence of a paragraph with the reason after it, or some lines of a
 * list or a table with the words that introduce them. A line of a list alone says little.
 */
import { hasCue } from '../../domain/text/cues.js'
import { hasIdentifier } from '../../domain/text/identifiers.js'
import { numbersIn } from '../../domain/text/numbers.js'
import { spokenSentences } from '../../domain/text/speech.js'
import { isSingleLetter, termCounts } from '../../domain/text/terms.js'
import { defaultEstimator } from '../../domain/values/tokens.js'
import type { ReportMessage } from '../loss-report/report-input.js'
import { tellingTerms } from '../loss-report/stretches.js'
import type { Candidate } from '../summarizers/select-sentences.js'
import { announces } from './announcements.js'

/** A passage that may be an item. */
export interface Passage extends Candidate {
  readonly message: ReportMessage
}

const FENCE = /^\s*(?:```|~~~)/u
const ITEM = /^\s*(?:[-*+•]|\d+[.)])\s+/u
const HEADING = /^\s*#{1,6}\s+/u
const TABLE_RULE = /^\s*\|?[\s:|-]+\|?\s*$/u
const LEADS_ON = /[:：]\**\s*$/u
const MARKS = /\*\*|__|^#+\s+|^\s*>\s?/gmu

/** A paragraph, or lines of a list or a table; `intro` is the heading or the sentence before them. */
interface Block {
  readonly intro: string
  readonly lines: readonly string[]
  readonly isList: boolean
}

const plain = (line: string): string => line.replaceAll(MARKS, '').replaceAll(/\s+/gu, ' ').trim()

/** A row of a table as text; undefined for the rule under its head. */
const rowOf = (line: string): string | undefined =>
  TABLE_RULE.test(line)
    ? undefined
    : line
        .split('|')
        .map((cell) => plain(cell))
        .filter((cell) => cell !== '')
        .join(' — ')

/** A command or a value in a fence is worth its line; a longer piece of code is not read. */
const MOST_FENCED = 2

/** Marks removed code: a form feed, which no line has otherwise. */
const NO_INTRO = '\f'

/** Replaces each fence by its lines if they are few. */
function withoutCode(text: string): string[] {
  const lines: string[] = []
  let fenced: string[] | undefined
  for (const line of text.split('\n')) {
    if (!FENCE.test(line)) {
      if (fenced === undefined) lines.push(line)
      else if (line.trim() !== '' && !line.trim().startsWith('#')) fenced.push(line.trim())
    } else if (fenced === undefined) fenced = []
    else {
      // The words before longer code introduce nothing else.
      lines.push(...(fenced.length <= MOST_FENCED ? fenced.map((each) => `- \`${each}\``) : [NO_INTRO]))
      fenced = undefined
    }
  }
  return lines
}

function blocksOf(text: string): Block[] {
  const blocks: Block[] = []
  let intro = ''
  let open: { intro: string; lines: string[]; isList: boolean } | undefined
  const close = (): void => {
    if (open !== undefined && open.lines.length > 0) blocks.push(open)
    open = undefined
  }
  for (const line of withoutCode(text)) {
    if (line === NO_INTRO) {
      close()
      intro = ''
      continue
    }
    const isRow = line.trim().startsWith('|')
    const isItem = ITEM.test(line) || isRow
    const words = isRow ? rowOf(line) : plain(line.replace(ITEM, ''))
    if (words === undefined) continue
    if (words === '' || /^-{3,}$/u.test(words)) {
      if (open?.isList !== true) close()
      continue
    }
    if (!isItem && (HEADING.test(line) || (LEADS_ON.test(line) && words.length <= MOST_INTRO))) {
      close()
      intro = words.replace(LEADS_ON, '')
      continue
    }
    if (open === undefined || open.isList !== isItem) {
      close()
      open = { intro, lines: [], isList: isItem }
      intro = ''
    }
    open.lines.push(words)
  }
  close()
  return blocks
}

const MOST_INTRO = 160
/** Lines of a list in one passage, in characters; text in scripts without spaces takes less. */
const MOST_LIST = 300
const MOST_SENTENCE = 320

const lengthOf = (text: string): number => defaultEstimator.text(text) * 4

/** The lines of a list with its introduction, in pieces. */
function listPassages({ intro, lines }: Block): string[] {
  const pieces: string[][] = []
  for (const line of lines) {
    const last = pieces.at(-1)
    if (last === undefined || lengthOf([...last, line].join(' / ')) > MOST_LIST) pieces.push([line])
    else last.push(line)
  }
  return pieces.map((piece) => `${intro === '' ? '' : `${intro}: `}${piece.join(' / ')}`)
}

/** The sentences of a paragraph; one that gives the reason or the cause stays with the sentence before it. */
function sentencePassages({ intro, lines }: Block): string[] {
  const sentences = spokenSentences(lines.join(' '))
  return sentences.flatMap((sentence, at) => {
    const before = sentences[at - 1]
    const next = sentences[at + 1]
    const continues = (text: string | undefined): text is string =>
      text !== undefined && hasCue(text, 'reason') && !announces(text)
    if (before !== undefined && continues(sentence) && lengthOf(before + sentence) <= MOST_SENTENCE) return []
    const words = continues(next) && lengthOf(sentence + next) <= MOST_SENTENCE ? `${sentence} ${next}` : sentence
    return [at === 0 && intro !== '' ? `${intro}: ${words}` : words]
  })
}

/** The whole message in one line: its passages without code, with the words that introduce them. */
export const wholeText = (text: string): string[] =>
  blocksOf(text).flatMap((block) =>
    block.isList ? listPassages(block) : [`${block.intro === '' ? '' : `${block.intro}: `}${block.lines.join(' ')}`],
  )

/** Shorter texts between two calls announce the next call, unless they state a cause. */
const LEAST_EXPLANATION = 160
const LEAST_TERMS = 4

const EXACT = /`[^`\n]+`/u
const hasExact = (text: string): boolean => hasIdentifier(text) || EXACT.test(text) || numbersIn(text).length > 0

/** Whether an answer says more than that something was done: a reason, a name, a value. */
export const saysMore = (text: string): boolean =>
  tellingTerms(text).length >= LEAST_TERMS && (hasExact(text) || hasCue(text, 'reason'))

/** Whether a short text gives a cause. */
const givesCause = (text: string): boolean =>
  hasCue(text, 'reason') || (hasCue(text, 'error') && hasExact(text)) || hasCue(text, 'decision')

/** A longer passage has more words of each kind: each token over the limit costs. */
const MOST_BRIEF = 40
const COST_OF_TOKEN = 0.006

function scoreOf(text: string, isReport: boolean, isShort: boolean): number {
  const cues = [
    hasCue(text, 'reason') ? 0.35 : 0,
    hasCue(text, 'error') ? 0.3 : 0,
    hasCue(text, 'decision') ? 0.25 : 0,
    hasCue(text, 'pending') ? 0.15 : 0,
    hasCue(text, 'outcome') ? 0.1 : 0,
    hasCue(text, 'constraint') ? 0.15 : 0,
  ]
  const exact =
    (hasExact(text) ? 0.4 : 0) + (numbersIn(text).length > 0 ? 0.2 : 0) + (/https?:\/\//u.test(text) ? 0.1 : 0)
  const length = Math.max(0, defaultEstimator.text(text) - MOST_BRIEF) * COST_OF_TOKEN
  return cues.reduce((sum, each) => sum + each, 0.6 - length + exact + (isReport ? 0.4 : 0) - (isShort ? 0.2 : 0))
}

/** The words of a passage that are compared. */
export const termsOf = (text: string): ReadonlySet<string> =>
  new Set([...termCounts(text).counts.keys()].filter((term) => !isSingleLetter(term)))

/**
 * The passages of a message.
 * @param isReport it ends a turn
 */
export function passagesOf(message: ReportMessage, group: number, isReport: boolean): Omit<Passage, 'order'>[] {
  const isShort = !isReport && lengthOf(message.ownText) < LEAST_EXPLANATION
  return blocksOf(message.ownText)
    .flatMap((block) => (block.isList ? listPassages(block) : sentencePassages(block)))
    .filter(
      (text) =>
        !announces(text) &&
        !hasCue(text, 'filler') &&
        tellingTerms(text).length >= LEAST_TERMS &&
        (!isShort || givesCause(text)) &&
        !/[?？]\**\s*$/u.test(text),
    )
    .map((text) => ({
      message,
      group,
      text,
      tokens: defaultEstimator.text(text),
      overhead: 4,
      score: scoreOf(text, isReport, isShort),
      terms: termsOf(text),
    }))
}
