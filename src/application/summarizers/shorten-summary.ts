/** Cuts a summary to a limit at the end of a sentence, a line or a paragraph, or by whole entries of its sections. */
import { NO_SECTIONS, type Sections } from '../../domain/events/index.js'
import { defaultEstimator } from '../../domain/values/tokens.js'
import { clipToTokens } from './format-messages.js'
import { renderSections } from './render-sections.js'

/** The visible mark of a summary that was cut. */
const NOTE = '[shortened]'

const tokensOf = (text: string): number => defaultEstimator.text(text)
// Ends of sentences in any script: a mark that a space or the end follows, or a mark of East Asian width.
const SENTENCE_END = /[.!?…]["”')\]]*(?=\s|$)|[。！？][」』”’）]*/gu

/** The places after which a text may end: after sentences and lines, in ascending order. */
function endsOf(text: string): number[] {
  const ends = Array.from(text.matchAll(SENTENCE_END), (match) => match.index + match[0].length)
  for (let at = text.indexOf('\n'); at >= 0; at = text.indexOf('\n', at + 1)) ends.push(at)
  ends.push(text.length)
  return [...new Set(ends)].toSorted((a, b) => a - b)
}

// A heading at the end has lost its section.
const HEADING_AT_END = /(?:^|\n)(?:#{1,6} [^\n]*|[^\n]{1,60}:)$/u

function beginningUpTo(text: string, ends: readonly number[], fits: (beginning: string) => boolean): string {
  let low = 0
  let high = ends.length
  while (low < high) {
    const middle = Math.ceil((low + high) / 2)
    if (fits(text.slice(0, ends[middle - 1]))) low = middle
    else high = middle - 1
  }
  let beginning = low === 0 ? '' : text.slice(0, ends[low - 1]).trimEnd()
  while (HEADING_AT_END.test(beginning) && beginning.includes('\n'))
    beginning = beginning.slice(0, beginning.lastIndexOf('\n')).trimEnd()
  return HEADING_AT_END.test(beginning) ? '' : beginning
}

/** A text with the note, if it fits. */
function withNote(text: string, maxTokens: number): string {
  const noted = text.includes('\n') ? `${text}\n${NOTE}` : `${text} ${NOTE}`
  return tokensOf(noted) <= maxTokens ? noted : text
}

/** A text up to its last whole sentence; as it is if no sentence in it ends. */
export function upToWholeSentence(text: string): string {
  const trimmed = text.trim()
  const ends = Array.from(trimmed.matchAll(SENTENCE_END), (match) => match.index + match[0].length)
  const last = ends.at(-1)
  return last === undefined ? trimmed : trimmed.slice(0, last)
}

/**
 * The longest beginning of a text that ends with a sentence or a line and has at most `maxTokens`. If not even the first
 * sentence fits, that sentence is clipped.
 */
export function shortenText(text: string, maxTokens: number): string {
  const trimmed = text.trim()
  const beginning = beginningUpTo(trimmed, endsOf(trimmed), (part) => tokensOf(part) <= maxTokens)
  return beginning === '' ? clipToTokens(trimmed, maxTokens) : withNote(beginning, maxTokens)
}

/**
 * The order in which sections give up entries: finished work first; requests, constraints and open items last. Within a
 * section the oldest entry goes first.
 */
const GIVES_UP: readonly (keyof Sections)[] = [
  'completedWork',
  'closedItems',
  'errors',
  'superseded',
  'facts',
  'decisions',
  'currentState',
  'nextSteps',
  'openItems',
  'requests',
  'constraints',
]

/** The sections without the oldest entry of the first section in order that has one; undefined if none has. */
function withoutOldest(sections: Sections): Sections | undefined {
  const name = GIVES_UP.find((section) => sections[section].length > 0)
  return name === undefined ? undefined : { ...sections, [name]: sections[name].slice(1) }
}

/**
 * Sections cut by whole entries to at most `maxTokens` of their text; undefined if not even one entry fits.
 */
export function shortenSections(
  sections: Sections,
  maxTokens: number,
): { readonly sections: Sections; readonly text: string } | undefined {
  let rest: Sections | undefined = { ...NO_SECTIONS, ...sections }
  while (rest !== undefined) {
    const text = renderSections(rest)
    if (text === '') return undefined
    if (tokensOf(text) <= maxTokens) return { sections: rest, text: withNote(text, maxTokens) }
    rest = withoutOldest(rest)
  }
  return undefined
}
