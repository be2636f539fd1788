/** Retention, for hosts and operators. */
import type { either as E } from 'fp-ts'
import { listConversations } from '../../projections/read-models/live-messages/queries.js'
import type { Event, RecordedEvent } from '../domain/events/index.js'
import {
  placeHold,
  releaseHold,
  setRules,
  type HoldTarget,
  type RetentionRejection,
} from '../domain/retention/decide-retention.js'
import { holdOn, type RetentionState } from '../domain/retention/retention-state.js'
import { parseDuration } from '../domain/values/duration.js'
import { findDue } from '../application/retention/due.js'
import { changeRetention, readRetention, retentionEvents } from '../application/retention/retention-stream.js'
import { runRetention } from '../application/retention/run.js'
import { redactorFor } from '../application/recording/redaction.js'
import { notErasable } from '../application/sealing/text-keys.js'
import { erasurePartsOf, type ErasingParts } from './erasure.js'
import type { Call } from '../schema/call.js'
import * as calls from '../schema/calls/operating.js'
import type { Freshness } from './freshness.js'
import type { LedgerRetention, RetentionOptions, RuleSettings } from './ledger-retention.js'
import type { ActorOptions } from './ledger-options.js'
import { bad, nameOf } from './options.js'
import type { LedgerParts } from './parts.js'
import { problem, valueOf } from './problem.js'
import type { Provenance } from '../domain/events/codec.js'

interface Parts extends ErasingParts, Pick<LedgerParts, 'db' | 'claims'> {
  readonly freshness: Freshness
}

const RULES = ['keepAtLeast', 'eraseAfter'] as const

class Retention implements LedgerRetention {
  constructor(private readonly parts: Parts) {}

  async set(settings: RuleSettings, options: RetentionOptions) {
    const { scope, ...given } = this.parts.gate.enter(calls.retentionRules, settings)
    const { reason, provenance } = await this.recordedWith(calls.setRetention, options)
    const changes = RULES.flatMap((rule) => {
      const value = given[rule]
      if (value === undefined) return []
      return [[rule, value === null ? null : valueOf(parseDuration(rule, value), problem)] as const]
    })
    if (changes.length === 0) throw bad('keepAtLeast', 'is missing: set keepAtLeast, eraseAfter, or both')
    if (typeof given.eraseAfter === 'string' && !this.isErasable) throw notErasable('eraseAfter')
    const ofScope = scope === undefined ? {} : { scope }
    const state = await this.change(provenance, (before) =>
      setRules(before, { ...ofScope, ...Object.fromEntries(changes), reason }),
    )
    return { rules: [...state.rules.values()], isErasable: this.isErasable }
  }

  async hold(target: HoldTarget, options: RetentionOptions) {
    const checked = await this.targetOf(target)
    const { reason, provenance } = await this.recordedWith(calls.holdRetention, options)
    const holdId = this.parts.clock.newId().replaceAll('-', '').slice(0, 12)
    const state = await this.change(provenance, (before) => placeHold(before, holdId, checked, reason))
    const placed = state.holds.find((hold) => hold.holdId === holdId)
    if (placed === undefined) throw new Error(`the hold ${holdId} was recorded and is not in the state`)
    // An erasure is noted before it reads the holds, so one that did not see this hold is in the list.
    const erasuresBegun: string[] = []
    for (const { conversationId } of await this.parts.pendingErasures.list()) {
      const { configuration } = await this.parts.conversations.load(conversationId)
      if (holdOn({ holds: [placed] }, conversationId, configuration?.scope) !== undefined)
        erasuresBegun.push(conversationId)
    }
    return { ...placed, erasuresBegun }
  }

  async release(holdId: string, options: RetentionOptions) {
    const id = nameOf('holdId', holdId)
    const { reason, provenance } = await this.recordedWith(calls.releaseRetention, options)
    await this.change(provenance, (before) => releaseHold(before, id, reason))
  }

  async status() {
    const { log, clock, conversations, gate } = this.parts
    gate.open()
    const state = await readRetention(log)
    const { due, scopes } = await findDue(state, await this.listed(), clock.now(), conversations)
    return {
      isErasable: this.isErasable,
      rules: [...state.rules.values()],
      holds: state.holds,
      scopes,
      due,
      ...(state.lastRun === undefined ? {} : { lastRun: state.lastRun }),
    }
  }

  async run(options: ActorOptions | undefined) {
    const by = this.parts.gate.enter(calls.runRetention, options)
    const { log, claims, clock } = this.parts
    if (log.keys === undefined) throw notErasable('retention run')
    const provenance = this.parts.provenanceOf(by)
    const parts = { erasure: erasurePartsOf(this.parts, log.keys), claims, listed: () => this.listed() }
    return valueOf(await runRetention(parts, `${provenance.actor}:${clock.newId()}`, provenance), problem)
  }

  async history() {
    this.parts.gate.open()
    const events: RecordedEvent[] = []
    for await (const event of retentionEvents(this.parts.log)) events.push(event)
    return events
  }

  private get isErasable(): boolean {
    return this.parts.log.keys !== undefined
  }

  private async listed() {
    await this.parts.freshness.bringRows({})
    return await listConversations(this.parts.db, { sort: 'id' })
  }

  private async targetOf(given: HoldTarget): Promise<HoldTarget> {
    const { conversationId = '', scope } = this.parts.gate.enter(calls.holdTarget, given)
    if (scope !== undefined) return { scope }
    await this.parts.lookup.isThere(conversationId)
    return { conversationId }
  }

  private async recordedWith(
    call: Call<ReturnType<typeof calls.setRetention.options>>,
    options: RetentionOptions,
  ): Promise<{ readonly reason: string; readonly provenance: Provenance }> {
    const { reason, ...by } = this.parts.gate.enter(call, options)
    const [secret] = valueOf(await redactorFor(this.parts.log, undefined), problem)?.find(reason) ?? []
    if (secret !== undefined) throw bad('reason', `contains a secret (${secret.kind}): remove it; nothing was recorded`)
    return {
      reason,
      provenance: this.parts.provenanceOf(by),
    }
  }

  private async change(
    provenance: Provenance,
    decide: (state: RetentionState) => E.Either<RetentionRejection, readonly Event[]>,
  ): Promise<RetentionState> {
    const { log, clock } = this.parts
    return valueOf(await changeRetention(log, clock, provenance, decide), problem)
  }
}

/** Creates the functions of retention. */
export function createRetention(parts: Parts): LedgerRetention {
  const retention = new Retention(parts)
  return {
    set: (settings, options) => retention.set(settings, options),
    hold: (target, options) => retention.hold(target, options),
    release: (holdId, options) => retention.release(holdId, options),
    status: () => retention.status(),
    run: (options) => retention.run(options),
    history: () => retention.history(),
  }
}
