/**
 * A `Ledger` over a service, so that programs and the command line work with both. A function that the service
 * cannot offer throws an error that says so.
 */
import { createChats } from '../../library/chat.js'
import { optionsOf } from '../../library/options.js'
import * as calls from '../../schema/calls/conversations.js'
import type { Admin, AppendOptions, Ledger, Transcripts } from '../../library/ledger.js'
import { carriedCalls, type CarriedCalls } from './carried-calls.js'
import { createClient } from './client.js'
import { remoteEditions } from './remote-editions.js'
import { followEvents, readLog } from './remote-events.js'
import { listConversations, liveMessages, usageTotals } from './remote-lists.js'
import { remoteRules } from './remote-rules.js'
import { compressRemotely, remoteTools } from './remote-tools.js'
import { checkpointInJson, remoteErasure, remoteProofs, remoteRetention } from './remote-trust.js'
import { createRemote, notSupportedRemotely, withoutActor, type Remote } from './remote.js'
import type { ClientOptions } from './transport.js'

/** How to reach the service, and what goes with what is appended. */
export interface RemoteLedgerOptions extends ClientOptions {
  /** Settings for appends through this ledger; they are recorded. */
  readonly policy?: AppendOptions['policy']
}

/**
 * Opens a ledger over a service. It sends no request before the first call.
 * @throws TypeError if an option is invalid
 */
export function openRemoteLedger({ policy, ...reach }: RemoteLedgerOptions): Ledger {
  const remote = createRemote(createClient(reach))
  const close = (): Promise<void> => {
    remote.close()
    return Promise.resolve()
  }
  const carried = carriedCalls(remote)
  const recording = recordingCalls(remote, policy)
  return {
    conversation: createChats({
      append: async (...args) => await recording.append(...args),
      context: carried.context,
      tools: (conversation, options) => remoteTools(remote, conversation, options),
      async pin(conversation, message, options = {}) {
        await remote.value('pinMessage', { params: { conversation, message }, query: withoutActor(options) })
      },
      async unpin(conversation, message, options = {}) {
        await remote.value('unpinMessage', { params: { conversation, message }, query: withoutActor(options) })
      },
    }),
    ...carried,
    ...recording,
    ...readingCalls(remote),
    rules: { ...carried.rules, ...remoteRules(remote) },
    transcripts: remoteTranscripts(remote, policy),
    editions: { ...carried.editions, ...remoteEditions(remote) },
    admin: remoteAdmin(remote, carried.admin),
    close,
    [Symbol.asyncDispose]: close,
  }
}

/** Calls that record what an agent does. */
const recordingCalls = ({ value }: Remote, ownPolicy: AppendOptions['policy']) =>
  ({
    async append(conversation, messages, options = {}) {
      const { atomic, expectedRevision, policy, ...rest } = withoutActor(options)
      if (atomic !== undefined)
        throw notSupportedRemotely('atomic', 'send the request again with the same Idempotency-Key instead')
      return await value('appendMessages', {
        params: { conversation },
        body: {
          ...rest,
          policy: mergedPolicy(ownPolicy, policy),
          messages: Array.isArray(messages) ? messages : [messages],
        },
        headers: expectedOf(expectedRevision),
      })
    },
    async amend(conversation, options) {
      const { expectedRevision, ...body } = withoutActor(options)
      return await value('amend', { params: { conversation }, body, headers: expectedOf(expectedRevision) })
    },
  }) satisfies Partial<Ledger>

/** Calls that read. */
const readingCalls = (remote: Remote) => {
  const { value, result } = remote
  return {
    messages: async (conversation, options) => await liveMessages(remote, conversation, options),
    search: async (query, options) => await value('search', { body: { query, ...optionsOf(calls.search, options) } }),
    log: (conversation, options) => readLog(remote, conversation, options),
    async forgotten(conversation, { cycle, onCycle } = {}) {
      const { cycles, ...totals } =
        conversation === undefined
          ? await result('forgottenAll', {})
          : await value('forgotten', { params: { conversation }, query: { cycle } })
      for (const each of cycles) await onCycle?.(each)
      return totals
    },
    list: async (options) => await listConversations(remote, options),
    totals: async (options) => await usageTotals(remote, options),
    compress: async (history, conversation, options) => await compressRemotely(remote, history, conversation, options),
  } satisfies Partial<Ledger>
}

/** Transcripts and actions of other programs. */
const remoteTranscripts = ({ value }: Remote, ownPolicy: AppendOptions['policy']): Transcripts => ({
  async observe(conversation, observation, options = {}) {
    const { policy, ...rest } = withoutActor(options)
    return await value('observe', {
      params: { conversation },
      body: { ...rest, policy: mergedPolicy(ownPolicy, policy), observation },
    })
  },
  open: () => Promise.reject(notSupportedRemotely('transcripts.open', 'record on the machine of the store')),
  receive: () => Promise.reject(notSupportedRemotely('transcripts.receive', 'send the items with `pushTranscript`')),
  import: () =>
    Promise.reject(
      notSupportedRemotely('transcripts.import', 'use the command `import --store https://…`, or append the messages'),
    ),
  handoff: () => Promise.reject(notSupportedRemotely('transcripts.handoff', 'hand over on the machine of the store')),
})

/** Verification, statistics and operation. */
const remoteAdmin = (remote: Remote, carried: CarriedCalls['admin']): Admin => {
  const { result } = remote
  return {
    ...carried,
    async verify(conversation, { onProgress, onStream, against, checkpoint } = {}) {
      if (onStream !== undefined || against !== undefined)
        throw notSupportedRemotely(
          'a manifest',
          'it has a line for each stream, which is too much for a request. Create and verify manifests on the machine of the store, or use a checkpoint',
        )
      const body = checkpoint === undefined ? {} : { checkpoint: checkpointInJson(checkpoint) }
      return conversation === undefined
        ? await result('verifyAll', { body }, { onProgress })
        : await result('verify', { params: { conversation }, body }, { onProgress })
    },
    async stats(conversationId, { prices, onConversation } = {}) {
      const { conversations, total } = await result('statsAll', { body: { prices, conversationId } })
      for (const each of conversations) await onConversation?.(each)
      return total
    },
    follow: (options) => followEvents(remote, options),
    async waitForCompaction(conversation) {
      if (conversation !== undefined) await carried.waitForCompaction(conversation)
    },
    erasure: { ...carried.erasure, ...remoteErasure(remote) },
    retention: { ...carried.retention, ...remoteRetention(remote) },
    proofs: { ...carried.proofs, ...remoteProofs(remote) },
    secrets: {
      redactor: () => Promise.reject(notSupportedRemotely('secrets.redactor', 'the service redacts what it records')),
      scan: () => Promise.reject(notSupportedRemotely('secrets.scan', 'scan on the machine of the store')),
    },
  }
}

/** Settings of an append over those of the ledger; undefined if there are none. */
const mergedPolicy = (ownPolicy: AppendOptions['policy'], policy: AppendOptions['policy']): AppendOptions['policy'] =>
  ownPolicy === undefined && policy === undefined ? undefined : { ...ownPolicy, ...policy }

/** The headers of an expected revision. */
function expectedOf(revision: number | undefined): Readonly<Record<string, string>> {
  if (revision === undefined) return {}
  return revision === -1 ? { 'if-none-match': '*' } : { 'if-match': `"${revision.toString()}"` }
}
