/** The results of a check of rules, in words: the same on the page, in the command line and in reports. */
import { quote } from '../../domain/text/quote.js'
import type { ContextAtBreak, Presence } from '../../domain/rules/rule.js'

/** Whether a context had a rule, in two words. */
export const PRESENCE_NAMES: Readonly<Record<Presence, string>> = {
  there: 'there',
  changed: 'changed',
  gone: 'gone',
  unclear: 'not clear',
}

const MOST_TEXT = 120

/** Whether the context of the model had the rule at a break, as a clause. */
export function contextText({ presence, sinceCycle, text, loadedBy, changedAt }: ContextAtBreak): string {
  if (changedAt !== undefined)
    return 'the file was changed after the session began, so the agent may not have had the rule'
  if (loadedBy !== undefined) return `${loadedBy} loads the file of the rule into every context`
  if (presence === 'there') return 'the rule was in the context'
  if (sinceCycle === undefined) return 'no message states the rule, so the context may have lacked it'
  const since = `since compaction ${String(sinceCycle)}`
  if (presence === 'gone') return `the rule was gone ${since}`
  if (presence === 'unclear') return `the rule may be gone ${since}`
  return `the summary changed the rule ${since}${text === undefined ? '' : `: “${quote(text, MOST_TEXT)}”`}`
}
