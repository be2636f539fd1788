/** Writes to the ledger with the scope, the policy and the actor of a request. */
import { inputOf } from '../../domain/values/message.js'
import { isLedgerError } from '../../lib/ledger-error.js'
import type { PolicySettings } from '../../domain/values/policy-settings.js'
import type { AmendOptions, AppendOptions, Ledger, MessageInput, Observation } from '../../library/ledger.js'

import type { ProxyRequest } from '../../application/model-apis/api.js'
import type { RequestIdentity } from './identify-request.js'
import { reservesOf } from './reserves.js'
import type { TrackedConversation } from './tracked-conversation.js'

export class LedgerWriter {
  readonly ledger: Ledger
  /** Settings that the user fixed. They take precedence over those computed from the requests. */
  private readonly policy: PolicySettings | undefined
  private readonly scope: string | undefined

  constructor(options: {
    readonly ledger: Ledger
    readonly policy?: PolicySettings | undefined
    readonly scope?: string | undefined
  }) {
    this.ledger = options.ledger
    this.policy = options.policy
    this.scope = options.scope
  }

  actorOptions({ caller: { actor } }: RequestIdentity): Pick<AppendOptions, 'actor'> {
    return actor === undefined ? {} : { actor }
  }

  /** Records an observation of a program that owns its context. Does nothing if the observation is empty. */
  async observe(
    { conversationId }: TrackedConversation,
    observation: Omit<Observation, 'program'>,
    identity: RequestIdentity,
  ): Promise<void> {
    const isEmpty = Object.values(observation).every((part) => Array.isArray(part) && part.length === 0)
    if (isEmpty) return
    const { program, programVersion } = identity
    await this.ledger.transcripts.observe(
      conversationId,
      { program, ...(programVersion === undefined ? {} : { programVersion }), ...observation },
      this.recordOptions(identity),
    )
  }

  async append(conversationId: string, message: MessageInput, identity: RequestIdentity): Promise<void> {
    await this.ledger.append(conversationId, message, this.recordOptions(identity))
  }

  /** Appends messages and reserves the part of the window that the tools and the answer of the request need. */
  async appendWithReserves(
    conversationId: string,
    messages: readonly MessageInput[],
    request: ProxyRequest,
    identity: RequestIdentity,
  ): Promise<void> {
    const append = async (policy: PolicySettings | undefined): Promise<unknown> =>
      await this.ledger.append(conversationId, messages, {
        ...this.recordOptions(identity),
        ...(policy === undefined ? {} : { policy }),
      })
    try {
      await append(reservesOf(request, this.policy))
    } catch (error) {
      // The tools alone exceed the window, or the ledger knows a smaller window than the proxy. Computed reserves must
      // not prevent the recording.
      if (!isLedgerError(error, 'BadPolicy')) throw error
      await append(this.policy)
    }
  }

  async amend(conversationId: string, changes: Omit<AmendOptions, 'actor'>, identity: RequestIdentity): Promise<void> {
    await this.ledger.amend(conversationId, { ...this.actorOptions(identity), ...changes })
  }

  /** The messages of a conversation that were not withdrawn, as they were recorded, by id. */
  async recordedInputs(conversationId: string): Promise<Map<string, MessageInput>> {
    const inputs = new Map<string, MessageInput>()
    for await (const event of this.ledger.log(conversationId)) {
      if (event.type === 'MessagesWithdrawn') for (const { messageId } of event.data.messages) inputs.delete(messageId)
      if (event.type !== 'MessageAppended') continue
      const { messageId } = event.data
      inputs.set(messageId, { ...inputOf(event.data), id: messageId })
    }
    return inputs
  }

  private recordOptions(identity: RequestIdentity): Pick<AppendOptions, 'scope' | 'actor'> {
    return { ...(this.scope === undefined ? {} : { scope: this.scope }), ...this.actorOptions(identity) }
  }
}
