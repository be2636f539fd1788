/** What a check of rules found, in words: the same on the page, in the command line and in reports. */
import { quote } from '../../domain/text/quote.js'
import type { ContextAtBreak, Presence } from '../../domain/rules/rule.js'

/** Whether a context had a rule, in two words. */
export const PRESENCE_NAMES: Readonly<Record<Presence, string>> = {
  there: 'there',
  changed: 'changed',
  gone: 'gone',
  unclear: 'not clear',
}

/** Whether the context had the rule, as the end of a sentence about the rule. */
export function contextText({ presence, sinceCycle, text }: ContextAtBreak): string {
  const since = sinceCycle === undefined ? '' : ` since compaction ${String(sinceCycle)}`
  switch (presence) {
    case 'there':
      return 'was in the context of the model'
    case 'gone':
      return `was gone from the context${since}`
    case 'changed':
      return `was changed in the context${since}${text === undefined ? '' : `: “${quote(text, 160)}”`}`
    case 'unclear':
      return `may have been gone from the context${since}`
  }
}
