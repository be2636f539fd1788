/**
 * Removes text that models put around a summary: thinking blocks, an introduction, a heading "Summary", a code fence or
 * quotation marks around the whole, and closing remarks. By rule, and only at the beginning and the end: nothing in the
 * middle is removed, and a text without any of these stays as it is.
 */
import {
  CLOSING_REMARKS,
  INTERJECTIONS,
  INTRODUCED_NOUNS,
  INTRODUCTIONS,
  OF_THE_CONVERSATION,
  SUMMARY_NOUNS,
  THINKING_TAGS,
} from './answer-phrases.js'

const any = (phrases: readonly string[]): string => `(?:${phrases.join('|')})`

const tags = THINKING_TAGS.join('|')
const THINKING = new RegExp(String.raw`^<(${tags})(?:\s[^<>]{0,80})?>[\s\S]*?</\1>`, 'iu')
// Templates of some models write the opening tag themselves, so that the answer has the closing one alone, alone on its
// line.
const THINKING_ENDS = new RegExp(String.raw`^</(?:${tags})>$`, 'iu')
const THINKING_ONLY = new RegExp(String.raw`^<(?:${tags})(?:\s[^<>]{0,80})?>`, 'iu')

const noun = any(SUMMARY_NOUNS) + OF_THE_CONVERSATION
const introducedNoun = any([...SUMMARY_NOUNS, ...INTRODUCED_NOUNS]) + OF_THE_CONVERSATION
const interjection = String.raw`${any(INTERJECTIONS)}\s*[,!.:;，、。！]\s*`
const INTRODUCTION = new RegExp(
  String.raw`^(?:${interjection})?${any(INTRODUCTIONS)}${introducedNoun}(?:[^\S\n]*(?:입니다|です|になります))?[^\S\n]*(?:[:：]|[.。!！]?[^\S\n]*(?=\n|$))`,
  'iu',
)
const INTERJECTION_LINE = new RegExp(String.raw`^${any(INTERJECTIONS)}\s*[!.。！]?[^\S\n]*(?=\n)`, 'iu')
const HEADING = new RegExp(
  String.raw`^(?:#{1,6}[^\S\n]*(?:\*\*|__)?${noun}(?:\*\*|__)?[^\S\n]*[:：]?(?:\*\*|__)?[^\S\n]*(?=\n|$)|(\*\*|__)${noun}[^\S\n]*[:：]?\1[^\S\n]*[:：]?|${noun}[^\S\n]*(?:[:：]|(?=\n)))`,
  'iu',
)
const FENCED = /^(`{3,}|~{3,})[^\n`]*\n([\s\S]*?)\n?[^\S\n]*\1[^\S\n]*$/u
const CLOSING = new RegExp(
  String.raw`(?:^|\n|(?<=[.!?。！？…"”」)\]]\s{0,3}))[^\S\n]*${any(CLOSING_REMARKS)}[^\n.!?。！？]{0,300}[.!?。！？…]*$`,
  'iu',
)
const RULE = /^[-*_]{3,}[^\S\n]*(?:\n|$)/u
const RULE_AT_END = /\n[-*_]{3,}$/u
const QUOTES: readonly (readonly [string, string])[] = [
  ['"', '"'],
  ['“', '”'],
  ['„', '“'],
  ['«', '»'],
  ['「', '」'],
  ['『', '』'],
]

/** The answer without the thoughts at its beginning; empty if it is nothing else. */
export function withoutThinking(text: string): string {
  if (THINKING.test(text)) return text.replace(THINKING, '')
  if (THINKING_ONLY.test(text)) return ''
  if (!text.includes('</')) return text
  const isEnd = (line: string): boolean => THINKING_ENDS.test(line.trim())
  const lines = text.split('\n')
  const end = lines.findIndex(isEnd)
  if (end === -1) return text
  const rest = lines.slice(end)
  const first = rest.findIndex((line) => !isEnd(line))
  return first === -1 ? '' : rest.slice(first).join('\n')
}

function withoutFence(text: string): string {
  const [, mark = '', inner] = FENCED.exec(text) ?? []
  return inner === undefined || inner.split('\n').some((line) => line.trimStart().startsWith(mark)) ? text : inner
}

function withoutQuotes(text: string): string {
  for (const [open, close] of QUOTES) {
    const inner = text.slice(open.length, -close.length)
    if (
      text.length > 2 &&
      text.startsWith(open) &&
      text.endsWith(close) &&
      !inner.includes(open) &&
      !inner.includes(close)
    )
      return inner
  }
  return text
}

/** Removes a rule only next to something else that was removed, because a summary may contain one. */
function withoutIntroduction(text: string): string {
  for (const pattern of [INTRODUCTION, INTERJECTION_LINE, HEADING]) {
    const match = pattern.exec(text)
    if (match !== null) return text.slice(match[0].length).trimStart().replace(RULE, '')
  }
  return text
}

// A closing remark is one or two sentences. The pattern is tried on the end alone, so that a long text costs no more.
const LONGEST_REMARK = 700

function withoutClosing(text: string): string {
  const start = Math.max(0, text.length - LONGEST_REMARK)
  const match = CLOSING.exec(text.slice(start))
  if (match === null || (start > 0 && match.index === 0)) return text
  return text
    .slice(0, start + match.index)
    .trimEnd()
    .replace(RULE_AT_END, '')
}

const STEPS = [withoutIntroduction, withoutFence, withoutClosing, withoutQuotes]

/** A step that would leave nothing is not taken: its text is all that there is to judge. */
const stepped = (text: string, step: (text: string) => string): string => step(text).trim() || text

/** The summary in an answer, without the text around it. Cleaning twice is the same as cleaning once. */
export function cleanAnswer(answer: string): string {
  let text = answer.trim()
  for (;;) {
    const cleaned = STEPS.reduce(stepped, withoutThinking(text).trim())
    if (cleaned === text) return text
    text = cleaned
  }
}
