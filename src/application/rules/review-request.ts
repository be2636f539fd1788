/**
 * The requests of a review: the words of the user whole, the calls and other texts cut. A long conversation is read in
 * several requests, each with the rules that were found before.
 */
import { cleanText } from '../../domain/text/clean-text.js'
import type { Rule } from '../../domain/rules/rule.js'
import { defaultEstimator } from '../../domain/values/tokens.js'
import type { LanguageModelRequest } from '../../ports/language-model.js'
import type { ReportMessage, ReportToolCall } from '../loss-report/report-input.js'
import { worksOf, type Work } from '../loss-report/tool-calls.js'
import { fence, shortenMiddle, shortenToTokens } from '../summarizers/format-messages.js'
import { isByUser } from '../working-state/statements.js'
import { refusedCall } from './find-rules.js'
import { REVIEW_FORM, REVIEW_SCHEMA, reviewPrompt } from './review-prompt.js'

/** The longest texts of a line, in characters. */
const MOST_ARGUMENTS = 1_200
const MOST_RESULT = 240
const MOST_PROSE = 400
const MOST_OF_USER = 12_000
/** Tokens of the messages in a request, if the model's window allows it. */
const MOST_TOKENS = 16_000
/** The share of the window for the messages. The rest is for rules, prompt and answer. */
const SHARE_OF_WINDOW = 0.5
const ANSWER_TOKENS = 4_000
/** Messages of the user before those of a request, because they may have allowed what follows. */
const BEFORE = 3
const MOST_EARLIER_TOKENS = 1_000
const LEAST_TOKENS = 400

const indented = (text: string): string => cleanText(text).trim().split('\n').join('\n  ')
const callText = ({ name, arguments: input }: ReportToolCall): string =>
  `[calls ${name} with ${shortenMiddle(cleanText(input), MOST_ARGUMENTS)}]`

function resultText(message: ReportMessage, work: Work | undefined): string {
  const { text, isError } = message
  if (refusedCall(message)) return `[the user refused ${work?.call.name ?? 'the call'}] ${text}`
  if (work?.query.use === 'ask') return `[the user answered ${work.call.name}] ${shortenMiddle(text, MOST_OF_USER)}`
  const head = `[result of ${work?.call.name ?? 'a tool'}${isError === true ? ', failed' : ''}]`
  return `${head} ${shortenMiddle(text, MOST_RESULT)}`
}

function lineOf(message: ReportMessage, work: Work | undefined): string {
  const { revision, role, text, ownText, byProgram, toolCalls = [], at } = message
  const isUser = isByUser(message)
  const speaker = role === 'user' && !isUser ? 'program' : role
  const body =
    role === 'tool'
      ? resultText(message, work)
      : isUser
        ? shortenMiddle(ownText, MOST_OF_USER)
        : shortenMiddle(byProgram === true ? text : ownText, MOST_PROSE)
  const parts = [...(body.trim() === '' ? [] : [body]), ...toolCalls.map(callText)]
  const time = at === undefined ? '' : ` (${at.slice(0, 16)}Z)`
  return `r${String(revision)} ${speaker}${isUser || toolCalls.length > 0 ? time : ''}: ${indented(parts.join('\n'))}`
}

/** Some messages, and their text for a request. */
export interface ReviewPart {
  readonly messages: readonly ReportMessage[]
  readonly text: string
}

const knownRules = (known: readonly Rule[]): string =>
  known.length === 0 ? '' : `Rules that are known:\n${known.map(knownText).join('\n')}\n`

/** The most tokens of the messages of a request, which also has the known rules. */
export const tokensOfPart = (windowTokens: number, known: readonly Rule[]): number =>
  Math.max(
    LEAST_TOKENS,
    Math.min(MOST_TOKENS, Math.floor(windowTokens * SHARE_OF_WINDOW)) - defaultEstimator.text(knownRules(known)),
  )

/**
 * The messages in parts that fit into a request each.
 * @param messages all of the conversation
 * @param from the revision of the first message to review
 * @param limit tokens of a part, with the words of the user before it
 */
export function partsOf(messages: readonly ReportMessage[], from: number, limit: number): ReviewPart[] {
  const works = new Map(
    worksOf(messages).flatMap((work) => (work.result === undefined ? [] : [[work.result.messageId, work]])),
  )
  const parts: { messages: ReportMessage[]; lines: string[]; tokens: number }[] = []
  const earlier: string[] = []
  for (const message of messages) {
    const line = shortenToTokens(lineOf(message, works.get(message.messageId)), limit)
    if (message.revision >= from) {
      const size = defaultEstimator.text(line)
      let part = parts.at(-1)
      if (part === undefined || part.tokens + size > limit) {
        const before = earlier.slice(-BEFORE)
        const lines = before.length === 0 ? [] : [...before, '-- the messages to review --']
        part = { messages: [], lines, tokens: before.length === 0 ? 0 : defaultEstimator.text(before.join('\n')) }
        parts.push(part)
      }
      part.tokens += size
      part.messages.push(message)
      part.lines.push(line)
    }
    if (isByUser(message)) earlier.push(shortenToTokens(line, Math.min(MOST_EARLIER_TOKENS, Math.floor(limit / 12))))
  }
  return parts.map(({ messages: read, lines }) => ({ messages: read, text: lines.join('\n') }))
}

const knownText = ({ id, text, takenBack }: Rule): string =>
  `${id}: ${cleanText(text)}${takenBack?.revision === undefined ? '' : ` (taken back at r${String(takenBack.revision)})`}`

/** The request for the text of a part, with the rules that are known. */
export function reviewRequest(text: string, known: readonly Rule[]): LanguageModelRequest {
  const rules = knownRules(known)
  return {
    system: REVIEW_FORM,
    prompt: reviewPrompt.text.replaceAll(/\{(?:rules|messages)\}/gu, (name) =>
      name === '{rules}' ? rules : fence('record', text),
    ),
    temperature: 0,
    maxOutputTokens: ANSWER_TOKENS,
    responseSchema: REVIEW_SCHEMA,
  }
}
