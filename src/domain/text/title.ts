/** Titles of conversations: one line of plain text. */
import { cleanText, headOf } from './clean-text.js'

/** Most characters of a title. */
const LONGEST = 100
/** A title is in the first characters of a message, after blocks that a program wrote. */
const READ = 200_000
/** Each block is searched for its end, so their number is limited. */
const MOST_BLOCKS = 100

/** A text as a title: one line, cut between two words. Undefined if nothing is left to show. */
export function titleOf(text: string): string | undefined {
  // The limit keeps a text without blanks short before its spaces are joined.
  const line = cleanText(headOf(text.trimStart(), LONGEST * 4))
    .replaceAll(/\s+/gu, ' ')
    .trim()
  if (line.length <= LONGEST) return line === '' ? undefined : line
  const head = headOf(line, LONGEST - 1)
  const end = head.lastIndexOf(' ')
  return `${(end > LONGEST / 2 ? head.slice(0, end) : head).trimEnd()}…`
}

/** The tag of a block that programs put before the words of a person: `<environment_context>`, `<command-name>`. */
const BLOCK = /^<(?<tag>[a-z]+(?:[_-][a-z]+)+)(?:\s[^<>]{0,500})?>/iu
/** The thoughts of a model, which some programs put before its answer. */
const THOUGHTS = /^<(?<tag>think(?:ing)?)>/iu
/** A tag around the words of a person: `<task>`. */
const WRAPPER = /^<(?<tag>[a-z]+)>/iu
/** A header line of a program, `[depth:0|start:…|end:…|count:15]`, or marks of Markdown. */
const HEADER = /^(?:\[[a-z_]+:[^\]\n]{0,300}\]|#{1,6}(?=\s)|>(?=\s))/iu
/** What an editor puts before a request to Codex: the open files and the selection. */
const EDITOR_CONTEXT = /^# Context from my IDE setup:\n[^]*?\n## My request for Codex:/u
/** The next block, on a line of its own. */
const NEXT_BLOCK = /\n\s{0,20}<[a-z]+(?:[_-][a-z]+)+[\s>]/iu

/** The text without its first block, header or wrapper. Undefined if it begins with words. */
function withoutMachineText(text: string): string | undefined {
  const block = (BLOCK.exec(text) ?? THOUGHTS.exec(text))?.groups?.['tag']
  if (block !== undefined) {
    const close = `</${block}>`
    const end = text.indexOf(close)
    return end === -1 ? '' : text.slice(end + close.length)
  }
  const wrapper = WRAPPER.exec(text)?.groups?.['tag']
  if (wrapper !== undefined) {
    const end = text.indexOf(`</${wrapper}>`)
    return text.slice(wrapper.length + 2, end === -1 ? undefined : end)
  }
  const header = (EDITOR_CONTEXT.exec(text) ?? HEADER.exec(text))?.[0]
  return header === undefined ? undefined : text.slice(header.length)
}

/**
 * The first words of a person in a message, as a title. Headers, environment descriptions and wrapped commands of a
 * program are skipped. Undefined if the message has nothing else.
 */
export function openingWords(message: string): string | undefined {
  let words = headOf(message, READ).trimStart()
  let rest = withoutMachineText(words)
  for (let blocks = 1; rest !== undefined; blocks += 1) {
    if (blocks > MOST_BLOCKS) return undefined
    words = rest.trimStart()
    rest = withoutMachineText(words)
  }
  const next = NEXT_BLOCK.exec(words)
  return titleOf(firstParagraphs(next === null ? words : words.slice(0, next.index)))
}

/** Fewest characters of a title if the message has another paragraph. */
const SHORTEST = 12

/** The first paragraph; more of them if it is short. */
function firstParagraphs(text: string): string {
  const end = text.slice(SHORTEST).search(/\n[^\S\n]*\n/u)
  return end === -1 ? text : text.slice(0, SHORTEST + end)
}

/** A command of the program, `/add src/date.ts`, or a single short word such as a greeting. */
const BARE = /^(?:\/[^\s/]+(?=\s|$)|[!-~]{1,12}$)/u

/** Whether the words of a person say little about the conversation, so that later ones make a better title. */
export const isBare = (words: string): boolean => BARE.test(words)
