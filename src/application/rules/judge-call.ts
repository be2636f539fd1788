/** Judges a call of a tool before it runs, by the messages of its session. */
import type { RuleBreak } from '../../domain/rules/rule.js'
import type { ReportMessage, ReportToolCall } from '../loss-report/report-input.js'
import { CallChecker } from './call-checker.js'
import { keyOf, type ReadableRule } from './find-rules.js'
import { FollowedRules } from './followed-rules.js'

/** A call that has not run. */
export interface PendingCall {
  readonly call: ReportToolCall
  /** The branch that is checked out in its folder. */
  readonly branch?: string | undefined
  /** The time now, ISO 8601. */
  readonly at: string
}

/**
 * The rules that a call would break, as `checkRules` will report it, without those that the user has taken back or, in
 * this turn, excepted. Of rules with the same content, the first.
 * @param messages of the session so far; the last one may have the call
 * @param rules that apply from the beginning of the session; only messages after `since.at` take one back
 */
export function judgeCall(
  messages: readonly ReportMessage[],
  rules: readonly ReadableRule[],
  { call, branch, at }: PendingCall,
): readonly ReadableRule[] {
  const byContent = new Map<string, ReadableRule>()
  for (const rule of rules) if (!byContent.has(keyOf(rule))) byContent.set(keyOf(rule), rule)
  const followed = new FollowedRules([...byContent.values()])
  const known = messages.findLast(({ toolCalls = [] }) => toolCalls.some(({ id }) => id === call.id))
  // A program may write a call before its arguments.
  const last = known === undefined ? pendingMessage(messages, call, at) : withCall(known, call)
  for (const message of messages) followed.take(message === known ? last : message)
  if (known === undefined) followed.take(last)
  const checker = new CallChecker(followed.messages, followed.rules, { branch }).check()
  // A rule that was taken back and stated again is another one with the same content.
  const broken = new Set(
    followed.rules.filter((rule) => checker.of(rule).breaks.some(isOf(last, call))).map((rule) => keyOf(rule)),
  )
  return [...byContent].filter(([key]) => broken.has(key)).map(([, rule]) => rule)
}

const pendingMessage = (messages: readonly ReportMessage[], call: ReportToolCall, at: string): ReportMessage => ({
  messageId: 'pending',
  revision: (messages.at(-1)?.revision ?? -1) + 1,
  role: 'assistant',
  text: '',
  ownText: '',
  toolCalls: [call],
  at,
  tokens: 0,
})

const withCall = (message: ReportMessage, call: ReportToolCall): ReportMessage => ({
  ...message,
  toolCalls: message.toolCalls?.map((each) => (each.id === call.id ? call : each)),
})

/** Whether a break is of a call: a message may have several. */
const isOf =
  ({ messageId, toolCalls = [] }: ReportMessage, { id }: ReportToolCall) =>
  (found: RuleBreak): boolean =>
    found.messageId === messageId && found.id.endsWith(`-${String(toolCalls.findIndex((each) => each.id === id) + 1)}`)
