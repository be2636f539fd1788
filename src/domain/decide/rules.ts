/** Records what a person said about rules: the state does not have the rules, so the caller checks that they exist. */
import { either as E } from 'fp-ts'
import type { Conversation } from '../conversation/conversation.js'
import type { EventData } from '../events/index.js'
import type { Decision } from './decision.js'

export interface JudgeRule extends EventData<'RuleJudged'> {
  readonly type: 'JudgeRule'
}

export const judgeRule = (_state: Conversation, { rule, judgement }: JudgeRule): Decision =>
  E.right([{ type: 'RuleJudged', data: { rule, judgement } }])

export interface AddRule extends EventData<'RuleAdded'> {
  readonly type: 'AddRule'
}

export const addRule = (_state: Conversation, { text }: AddRule): Decision =>
  E.right([{ type: 'RuleAdded', data: { text } }])
