/** Calls about transcripts and actions of other programs. */
import type { TranscriptItem } from '../../application/importers/transcript.js'
import type { MessageInput } from '../../domain/values/chat-message.js'
import { HANDOFF_PROGRAMS, SAME_PROGRAM } from '../../domain/values/handoff-programs.js'
import { call, ofForm, option, required } from '../call.js'
import {
  awaitedListener,
  checkedBy,
  flag,
  listener,
  policySettings,
  recordedName,
  signal,
  text,
  unchecked,
  wholeFrom,
} from '../option-values.js'
import { actor, configuration, request } from './common.js'

const scope = () => ({ scope: option('Tenant or owner of new conversations', recordedName()) })

/** Imports a transcript. */
export const importTranscript = call('transcripts.import', {
  writes: true,
  options: () => ({
    from: option('The program that wrote it. Default: recognized by the content', unchecked<string>()),
    ...scope(),
    policy: option('Settings of its conversations, used after an edition is adopted', policySettings()),
    ...request(),
    signal: option('Ends the import after the current record. Recorded events stay', signal()),
    onItem: option('Called with each item as it is read', listener<[item: TranscriptItem]>()),
    resumable: option(
      'If true, the end of the file and the state of the reader stay in memory, and the next import with this option reads only the appended lines. A file that does not grow by lines, or that was replaced, is read from the beginning. Default: false',
      flag(),
    ),
    continues: option(
      'Id of the conversation that the transcript continues, for one that does not name its parent itself. Recorded as its parent',
      recordedName(),
    ),
  }),
})

/** Takes records of a transcript while its program writes it. */
export const openTranscript = call('transcripts.open', {
  writes: true,
  options: () => ({
    from: required('The program that writes it, as `import` names it', unchecked<string>()),
    ...scope(),
    ...actor(),
  }),
})

/** Takes items that another machine reads. */
export const receiveTranscript = call('transcripts.receive', {
  writes: true,
  options: () => ({
    from: required('The program that wrote the transcript, as `import` names it', unchecked<string>()),
    ...scope(),
    ...actor(),
    allows: option(
      'Called with each conversation before anything of it is recorded. Throws if it must not be recorded',
      awaitedListener<[conversationId: string]>(),
    ),
  }),
})

/** Writes a conversation as a session of another program. */
export const handoff = call('transcripts.handoff', {
  writes: true,
  options: () => ({
    to: option(
      'The program: `claude-code`, `codex`, `opencode`, `pi`, `gemini`, or `same` for the one that recorded the conversation. May be absent with `repair`',
      ofForm(unchecked<string>(), { kind: 'choice', choices: [...HANDOFF_PROGRAMS, SAME_PROGRAM] }),
    ),
    repair: option(
      'If true, the session is written for the program that recorded the conversation, which cannot resume it: the context as it is, with its summary, each call with its result, and without a limit of tokens unless `budget` is set. `repaired` of the result counts what was changed. Default: false',
      flag(),
    ),
    withdrawn: option(
      'Id of a withdrawn message. The conversation is handed over as it was before that message was withdrawn. `withdrawn` of the result names the first message of each withdrawn part',
      text(),
    ),
    budget: option(
      'The most tokens that the new session may have, estimated. Default: 100,000',
      wholeFrom(1, 'must be a whole number of at least 1'),
    ),
    home: option(
      'Directory of the program. Default: the one that the program uses on this machine',
      ofForm(unchecked<string>(), { kind: 'text' }),
    ),
    cwd: option(
      'Directory in which the work continues. Default: the directory of the conversation, or the current one',
      text(),
    ),
    ...actor(),
  }),
})

/** Options of `transcripts.observe`. */
export const observe = call('transcripts.observe', {
  writes: true,
  options: () => ({ ...configuration(), ...request() }),
})

/** An observed compaction of a program. */
export interface SeenCompaction {
  /** Distinguishes it from the program's other compactions of this conversation. */
  readonly sourceId: string
  /** The trigger; `unknown` if the program does not report it. */
  readonly trigger: 'auto' | 'manual' | 'overflow' | 'unknown'
  /** The summary that replaced the removed messages. */
  readonly summary:
    | { readonly kind: 'text'; readonly text: string }
    | { readonly kind: 'opaque' }
    | { readonly kind: 'none' }
  /** The context directly after it: ids of the remaining messages, and messages that the program added. */
  readonly context: readonly (
    | { readonly messageId: string }
    | { readonly inserted: MessageInput; readonly isSummary?: true }
  )[]
}

const list = <Entry>() => checkedBy<readonly Entry[]>((given) => (Array.isArray(given) ? undefined : 'must be a list'))

const isObject = (given: unknown): given is object => typeof given === 'object' && given !== null

const compaction = () =>
  checkedBy<SeenCompaction>((given) => {
    if (!isObject(given) || !('context' in given) || !Array.isArray(given.context))
      return 'must be { sourceId, trigger, summary, context }, in which context is a list'
    const summary = 'summary' in given ? given.summary : undefined
    const kind = isObject(summary) && 'kind' in summary ? summary.kind : undefined
    return kind === 'opaque' || kind === 'none' || (kind === 'text' && isObject(summary) && 'text' in summary)
      ? undefined
      : 'needs a summary: { kind: "text", text }, { kind: "opaque" } or { kind: "none" }'
  })

/** The second argument of `transcripts.observe`: what the program did. */
export const observation = call('transcripts.observe', {
  writes: true,
  options: () => ({
    program: required('The program that makes the context, by its name', recordedName()),
    programVersion: option('Its version', unchecked<string>()),
    sourceId: option('The program’s own id of the conversation. Default: the conversation’s id', recordedName()),
    where: option('The source of the observation. Default: `proxy`', recordedName()),
    withdrawn: option('Ids of live messages that the program withdrew', list<string>()),
    edited: option(
      'Live messages whose content the program replaced for its model',
      list<{
        readonly messageId: string
        readonly content: MessageInput['content']
        readonly why: 'pruned' | 'masked' | 'shortened' | 'replaced'
      }>(),
    ),
    compaction: option('A compaction. From now on the model receives its context', compaction()),
    messages: option('New messages, in order', list<MessageInput>()),
    unreadable: option(
      'An answer to the program that cannot be read: why, and its position, for example the message that it follows. Alone, it may be observed in any conversation',
      unchecked<{ readonly detail: string; readonly path?: string }>(),
    ),
  }),
})
