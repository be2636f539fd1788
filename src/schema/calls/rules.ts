/** Calls about the rules of the user: those that a conversation states, and the calls that broke them. */
import type { RuleCheck } from '../../domain/rules/rule.js'
import { call, option } from '../call.js'
import { awaitedListener, checkedBy } from '../option-values.js'

/** A rule file: its name, and its text. */
export interface RuleFile {
  /** The name that ids and reports show. */
  readonly name: string
  readonly text: string
}

const isFile = (given: unknown): given is RuleFile =>
  typeof given === 'object' &&
  given !== null &&
  'name' in given &&
  typeof given.name === 'string' &&
  given.name.trim() !== '' &&
  'text' in given &&
  typeof given.text === 'string'

const files = () =>
  option(
    'Rule files of the project. Each line that states a rule is one, from the beginning of the conversation',
    checkedBy<readonly RuleFile[]>((given) =>
      Array.isArray(given) && given.every(isFile) ? undefined : 'must be a list of { name, text }',
    ),
  )

/** The rules of a conversation. */
export const listRules = call('rules.list', { options: () => ({ files: files() }) })

/** Checks the calls of conversations. */
export const checkRules = call('rules.check', {
  options: () => ({
    files: files(),
    onConversation: option(
      'Called with each conversation that states a rule. A returned promise is awaited',
      awaitedListener<[check: RuleCheck]>(),
    ),
  }),
})
