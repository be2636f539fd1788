/** Records what people and models said about rules: the state does not have the rules, so the caller checks that they exist. */
import { either as E } from 'fp-ts'
import type { Conversation } from '../conversation/conversation.js'
import type { EventData } from '../events/index.js'
import type { Decision } from './decision.js'

export interface JudgeRule extends EventData<'RuleJudged'> {
  readonly type: 'JudgeRule'
}

export const judgeRule = (_state: Conversation, { type: _type, ...data }: JudgeRule): Decision =>
  E.right([{ type: 'RuleJudged', data }])

export interface AddRule extends EventData<'RuleAdded'> {
  readonly type: 'AddRule'
}

export const addRule = (_state: Conversation, { type: _type, ...data }: AddRule): Decision =>
  E.right([{ type: 'RuleAdded', data }])

export interface RecordRuleReview extends EventData<'RulesReviewed'> {
  readonly type: 'RecordRuleReview'
}

export const recordRuleReview = (_state: Conversation, { type: _type, ...data }: RecordRuleReview): Decision =>
  E.right([{ type: 'RulesReviewed', data }])
