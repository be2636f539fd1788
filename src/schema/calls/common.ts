/** Options that several calls have. */
import { MAX_SOUGHT_WORDS, soughtWords } from '../../domain/text/sought-words.js'
import { option } from '../call.js'
import { milliseconds, name, policySettings, position, recordedName, time } from '../option-values.js'

/** Read-your-writes: wait until the read models include a position that an append returned. */
export const wait = () => ({
  waitFor: option(
    'Position that an append returned: the read waits until it is included. Default: everything that this ledger recorded itself',
    position(),
  ),
  timeout: option('Milliseconds to wait, default 5000; then `ProjectionsBehind` is thrown', milliseconds(), {
    most: 60_000,
  }),
})

/** Which conversations to list or to sum. */
export const selection = () => ({
  scope: option('Only conversations of this scope: the tenant or owner', name()),
  prefix: option('Beginning of the id', name()),
  match: option('Part of the id, the title or the project folder, in any case', name()),
  person: option('The person whose service key began the conversation', name()),
  program: option('Program whose transcript was imported (claude-code, codex, ...)', name()),
  project: option('Part of the project folder, in any case', name()),
  grep: option(
    `Words, in any order and case, that the id, title, project folder and messages have together; words in double quotes are an exact phrase. At most ${String(MAX_SOUGHT_WORDS)} words and phrases`,
    name().refine(
      (words) => soughtWords(words).length <= MAX_SOUGHT_WORDS,
      `has more than ${String(MAX_SOUGHT_WORDS)} words: put a sentence into double quotes`,
    ),
  ),
  since: option('Only conversations with a message at or after this time, ISO 8601 with its zone', time()),
  until: option('Only conversations without a message at or after this time, ISO 8601 with its zone', time()),
})

/** The actor of a change. */
export const actor = () => ({
  actor: option('Recorded with the event. Default: the actor of the ledger', recordedName()),
})

/** The request and the actor of a change. */
export const request = () => ({
  ...actor(),
  correlationId: option('Id of the request; recorded with every event of the change', recordedName()),
})

/** What a conversation is configured with. */
export const configuration = () => ({
  policy: option(
    'Policy settings from now on; they override those of the ledger and the recorded ones',
    policySettings(),
  ),
  scope: option('Tenant or owner. Set with the first message; cannot change', recordedName()),
})
