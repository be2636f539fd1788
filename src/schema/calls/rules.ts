/** Calls about the rules of the user: those that a conversation states, and the calls that broke them. */
import {
  MOST_OF_RULE_FILE,
  RULE_SCOPES,
  type ReviewProgress,
  type RuleCheck,
  type RuleFileFacts,
} from '../../domain/rules/rule.js'
import { RULE_JUDGEMENTS } from '../../domain/events/index.js'
import { call, option } from '../call.js'
import { awaitedListener, checkedBy, listener, name, oneOf, signal, time } from '../option-values.js'
import { request } from './common.js'

export type RuleJudgement = (typeof RULE_JUDGEMENTS)[number]

/** A rule file. */
export interface RuleFile extends RuleFileFacts {
  /** The name that ids and reports show. */
  readonly name: string
  /** Its text. */
  readonly text: string
}

const isTime = (given: unknown): boolean => typeof given === 'string' && !Number.isNaN(Date.parse(given))

const isFile = (given: unknown): given is RuleFile =>
  typeof given === 'object' &&
  given !== null &&
  'name' in given &&
  typeof given.name === 'string' &&
  given.name.trim() !== '' &&
  'text' in given &&
  typeof given.text === 'string' &&
  (!('loadedBy' in given) || given.loadedBy === undefined || typeof given.loadedBy === 'string') &&
  (!('changedAt' in given) || given.changedAt === undefined || isTime(given.changedAt))

const files = () =>
  option(
    'Rule files of the project. Each line that states a rule is one, from the beginning of the conversation',
    checkedBy<readonly RuleFile[]>((given) => {
      if (!Array.isArray(given) || !given.every(isFile))
        return 'must be a list of { name, text }, with loadedBy and changedAt (ISO 8601) where they are known'
      const large = given.find(({ text }) => text.length > MOST_OF_RULE_FILE)
      if (large !== undefined) return `has ${large.name}, which is larger than 1 MB`
      // The ids of rules begin with the name.
      const repeated = given.find((file, at) => given.findIndex((each) => each.name === file.name) < at)
      return repeated === undefined ? undefined : `has two files with the name ${repeated.name}`
    }),
  )

/** The rules of a conversation. */
export const listRules = call('rules.list', { options: () => ({ files: files() }) })

/** Checks the calls of conversations. */
export const checkRules = call('rules.check', {
  options: () => ({
    files: files(),
    since: option('Only calls at or after this time', time()),
    onConversation: option(
      'Called with each conversation that states a rule. A returned promise is awaited',
      awaitedListener<[check: RuleCheck]>(),
    ),
  }),
})

/** A model reads the conversation for rules and breaks. */
export const reviewRules = call('rules.review', {
  writes: true,
  options: () => ({
    ...request(),
    signal: option('Ends it: what was reviewed before is recorded', signal()),
    onProgress: option('Called after each request to the model', listener<[progress: ReviewProgress]>()),
  }),
})

const scoped = () => ({
  ...request(),
  scope: option(
    'The sessions that the rule is about: `conversation` for its own, `project` for all in the same folder, `everywhere` for all. Default: `project` if the conversation has a project folder',
    oneOf(RULE_SCOPES),
  ),
})

/** The rules that apply now, of all conversations. */
export const confirmedRules = call('rules.confirmed', {
  options: () => ({ project: option('Only rules for sessions in this folder', name()) }),
})

/** Records that a rule applies. */
export const confirmRule = call('rules.confirm', { writes: true, options: scoped })
/** Records that a rule does not apply. */
export const dropRule = call('rules.drop', { writes: true, options: request })
/** Records a new rule. */
export const addRule = call('rules.add', { writes: true, options: scoped })
