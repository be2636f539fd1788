/** Judges a call of a tool before it runs, by the messages of its session. */
import type { RuleBreak } from '../../domain/rules/rule.js'
import type { ReportMessage, ReportToolCall } from '../loss-report/report-input.js'
import { CallChecker } from './call-checker.js'
import type { ReadableRule } from './find-rules.js'
import { FollowedRules } from './followed-rules.js'

/** A call that has not run. */
export interface PendingCall {
  readonly call: ReportToolCall
  /** The branch that is checked out, where it would run. */
  readonly branch?: string | undefined
  /** The time now, ISO 8601. */
  readonly at: string
}

/**
 * The rules that a call would break, as `checkRules` will report it: none that the user has taken back or, in this turn,
 * excepted.
 * @param messages of the session so far; the last one may have the call
 * @param rules that apply from the beginning of the session
 */
export function judgeCall(
  messages: readonly ReportMessage[],
  rules: readonly ReadableRule[],
  { call, branch, at }: PendingCall,
): readonly { readonly rule: ReadableRule; readonly found: RuleBreak }[] {
  const stated = new FollowedRules(rules)
  const known = messages.findLast(({ toolCalls = [] }) => toolCalls.some(({ id }) => id === call.id))
  // A program may write a call before its arguments.
  const last = known === undefined ? pendingMessage(messages, call, at) : withCall(known, call)
  for (const message of messages) stated.take(message === known ? last : message)
  if (known === undefined) stated.take(last)
  const checker = new CallChecker(stated.messages, stated.rules, { branch }).check()
  return rules.flatMap((rule) => {
    const followed = stated.rules.find((each) => each.rule.id === rule.rule.id)
    const found = followed === undefined ? undefined : checker.of(followed).breaks.find(isOf(last, call))
    return found === undefined ? [] : [{ rule, found }]
  })
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
