/**
 * What a server does with the calls that reach it: it is here that requests meet the log, and that faults come between.
 */
import { randomUUID } from 'node:crypto'
import grpc from '@grpc/grpc-js'
import gossipServices from '@eventstore/db-client/generated/gossip_grpc_pb.js'
import featureServices from '@eventstore/db-client/generated/serverfeatures_grpc_pb.js'
import streamServices from '@eventstore/db-client/generated/streams_grpc_pb.js'
import type { ServerErrorResponse } from '@grpc/grpc-js'
import type { ClusterInfo } from '@eventstore/db-client/generated/gossip_pb.js'
import type { SupportedMethods } from '@eventstore/db-client/generated/serverfeatures_pb.js'
import type { Empty } from '@eventstore/db-client/generated/shared_pb.js'
import type {
  AppendReq,
  AppendResp,
  BatchAppendReq,
  BatchAppendResp,
  DeleteReq,
  DeleteResp,
  ReadReq,
  TombstoneReq,
  TombstoneResp,
} from '@eventstore/db-client/generated/streams_pb.js'
import type { Faults } from './faults.js'
import type { EventLog, Proposed, ReadableLog } from './log.js'
import {
  appendMessage,
  batchMessage,
  clusterInfo,
  deleteMessage,
  isTooLarge,
  notFoundMessage,
  proposedFrom,
  readQueryOf,
  recordMessage,
  subscriptionMessage,
  subscriptionQueryOf,
  supportedMethods,
  targetOfAppend,
  targetOfBatch,
  targetOfDelete,
  tombstoneMessage,
  type AppendTarget,
  type BatchFailure,
  type BatchTarget,
  type Member,
} from './messages.js'
import { outletOf } from './outlet.js'
import { read, subscribe, subscriptionProblem } from './reads.js'
import { problems, statusOf, type Outcome } from './statuses.js'

/** The role of a server in its cluster. */
export interface Role {
  leader(): Member | undefined
  members(): readonly Member[]
}

/** What the calls need to know of the server that they have reached. */
export interface CallContext {
  readonly id: string
  /**
   * Passwords by user name. Only administrators have any permission, as with a real server's defaults. Undefined: no
   * authentication.
   */
  readonly users: ReadonlyMap<string, { readonly password: string; readonly isAdmin: boolean }> | undefined
  readonly log: EventLog
  /** What it reads from: less than the log where it lags. */
  readonly reads: ReadableLog
  readonly faults: Faults
  readonly role: Role
  /**
   * Counts the processes that the server has been, so that a call which one of them has left waiting is not done by the
   * next.
   */
  readonly life: () => number
  readonly die: () => Promise<void>
}

/** A message above this breaks its call. */
const MAX_MESSAGE_BYTES = 16 * 1024 * 1024

const requiresLeader = (call: { readonly metadata: grpc.Metadata }): boolean =>
  call.metadata.get('requires-leader').includes('true')

// The answers to reads are bytes already.
const streamsService = {
  ...streamServices.StreamsService,
  read: { ...streamServices.StreamsService.read, responseSerialize: (bytes: Buffer) => bytes },
}

/** The services of a server. */
export function createCalls({ id, users, log, reads, faults, role, life, die }: CallContext): grpc.Server {
  /** The reason why the caller is refused; undefined if it is allowed. */
  function refusalOf({ metadata }: { readonly metadata: grpc.Metadata }): ServerErrorResponse | undefined {
    if (users === undefined) return undefined
    const [given] = metadata.get('authorization')
    if (given === undefined) return problems.denied()
    const [name = '', password] = Buffer.from(String(given).replace(/^Basic /u, ''), 'base64')
      .toString('utf8')
      .split(':')
    const user = users.get(name)
    if (user === undefined || user.password !== password) return problems.unauthenticated()
    return user.isAdmin ? undefined : problems.denied()
  }

  async function attempt(
    { stream, expected }: AppendTarget,
    events: readonly Proposed[],
    leaderOnly: boolean,
  ): Promise<Outcome> {
    const begunIn = life()
    await faults.passage()
    if (begunIn !== life()) return { kind: 'silence' }
    if (isTooLarge(events)) return { kind: 'too-large' }
    const leader = role.leader()
    if (faults.refuses() || leader?.isAlive !== true) return { kind: 'not-ready' }
    // Without being asked for the leader, a follower passes the append on to it.
    if (leaderOnly && leader.id !== id) return { kind: 'not-leader', host: leader.host, port: leader.port }
    const fault = faults.nextForAppend()
    if (fault === undefined) return log.append(stream, expected, events)
    if (fault.stored) log.append(stream, expected, events)
    if (fault.last === true) await die()
    if (fault.answer === 'none') return { kind: 'silence' }
    return { kind: fault.answer === 'deadline' ? 'timeout' : 'unavailable' }
  }

  function append(
    call: grpc.ServerReadableStream<AppendReq, AppendResp>,
    answer: grpc.sendUnaryData<AppendResp>,
  ): void {
    const events: Proposed[] = []
    let target: AppendTarget = { stream: '', expected: 'any' }
    let isReadable = true
    call.on('data', (request: AppendReq) => {
      const message = request.getProposedMessage()
      if (request.hasOptions()) target = targetOfAppend(request)
      try {
        if (message !== undefined) events.push(proposedFrom(message))
      } catch {
        isReadable = false
      }
    })
    const finish = async (): Promise<void> => {
      const refusal = refusalOf(call)
      if (refusal !== undefined) return answer(refusal)
      const outcome: Outcome = isReadable
        ? await attempt(target, events, requiresLeader(call))
        : { kind: 'bad-request', reason: '' }
      if (outcome.kind === 'silence') return
      if (outcome.kind === 'appended' || outcome.kind === 'wrong-version')
        answer(null, appendMessage(target.expected, outcome))
      else answer(statusOf(outcome, target))
    }
    // An append that its client gave up while it was still sending ends here too, with a part of its events: no server
    // takes a part for the whole.
    call.on('end', () => {
      // The end of the stream is emitted before the call is marked as cancelled.
      setImmediate(() => {
        if (!call.cancelled) void finish()
      })
    })
  }

  function batchAppend(call: grpc.ServerDuplexStream<BatchAppendReq, BatchAppendResp>): void {
    const unfinished = new Map<string, { readonly target: BatchTarget; readonly events: Proposed[] }>()
    const leaderOnly = requiresLeader(call)
    const refusal = refusalOf(call)
    if (refusal !== undefined) return void call.emit('error', refusal)
    const answer = (correlationId: string, target: BatchTarget, outcome: Outcome): void => {
      if (outcome.kind === 'silence' || call.cancelled) return
      // These two have no place in an answer: they end the stream, and with it everything else that waits on it.
      if (outcome.kind === 'unavailable' || outcome.kind === 'not-leader') call.emit('error', statusOf(outcome, target))
      else call.write(batchMessage(correlationId, target, outcome))
    }
    const receive = (request: BatchAppendReq): void => {
      const correlationId = request.getCorrelationId()?.getString() ?? ''
      const options = request.getOptions()
      if (options !== undefined) unfinished.set(correlationId, { target: targetOfBatch(options), events: [] })
      const unfinishedAppend = unfinished.get(correlationId)
      // Refused already: the rest of it is thrown away.
      if (unfinishedAppend === undefined) return
      const { target, events } = unfinishedAppend
      const refuse = (failure: BatchFailure): void => {
        unfinished.delete(correlationId)
        answer(correlationId, target, failure)
      }
      if (target.deadline <= Date.now()) return refuse({ kind: 'timeout' })
      try {
        for (const message of request.getProposedMessagesList()) events.push(proposedFrom(message))
      } catch (error) {
        // The real server answers a second time after two seconds, for which the client ends the process. Once is
        // enough to fail a test.
        return refuse({ kind: 'bad-request', reason: String(error) })
      }
      if (isTooLarge(events)) return refuse({ kind: 'too-large' })
      if (!request.getIsFinal()) return
      unfinished.delete(correlationId)
      void attempt(target, events, leaderOnly).then((outcome) => answer(correlationId, target, outcome))
    }
    call.on('data', receive)
    call.on('error', () => undefined)
    call.on('end', () => call.end())
  }

  async function answerRead(call: grpc.ServerWritableStream<ReadReq, Buffer>): Promise<void> {
    const request = call.request.getOptions()
    const outlet = outletOf(call)
    const begunIn = life()
    await faults.passage()
    if (request === undefined || begunIn !== life()) return
    const fail = (error: ServerErrorResponse): void => void call.emit('error', error)
    const refusal = refusalOf(call)
    if (refusal !== undefined) return fail(refusal)
    const leader = role.leader()
    if (faults.refuses()) return fail(problems.notReady())
    if (requiresLeader(call) && leader !== undefined && leader.id !== id) return fail(problems.notLeader(leader))
    const send = async (bytes: Buffer): Promise<void> => {
      if (faults.isHanging) await faults.passage()
      if (begunIn === life()) await outlet.send(bytes)
    }
    if (request.hasSubscription()) {
      const query = subscriptionQueryOf(request)
      const problem = subscriptionProblem(query, reads)
      if (problem === 'deleted') return fail(problems.deleted(query.stream ?? ''))
      if (problem === 'invalid-position') return fail(problems.invalidPosition())
      const subscriptionId = randomUUID()
      const items = subscribe(
        query,
        reads,
        () => outlet.isOpen(),
        () => outlet.woken(reads.changed()),
      )
      for await (const item of items) await send(subscriptionMessage(item, subscriptionId))
      return
    }
    const found = read(readQueryOf(request), reads)
    switch (found.kind) {
      case 'invalid':
        return fail(problems.invalidRead(found.reason))
      case 'deleted':
        return fail(problems.deleted(found.stream))
      case 'missing':
        await send(notFoundMessage(found.stream))
        break
      case 'records':
        for (const record of found.records) {
          if (!outlet.isOpen()) return
          const full = faults.isHanging ? send(recordMessage(record)) : outlet.send(recordMessage(record))
          if (full !== undefined) await full
        }
    }
    call.end()
  }

  /** Deletions are never disturbed: nothing of ours deletes. */
  function remover<Request extends DeleteReq | TombstoneReq, Response>(
    remove: EventLog['remove'],
    toMessage: (position: number) => Response,
  ) {
    return (call: grpc.ServerUnaryCall<Request, Response>, answer: grpc.sendUnaryData<Response>): void => {
      const target = targetOfDelete(call.request)
      const result = remove(target.stream, target.expected)
      if (result.kind === 'appended') answer(null, toMessage(result.position ?? 0))
      else answer(statusOf(result, target))
    }
  }

  /** One short answer to one short question. */
  function ask<Response>(response: () => Response) {
    return (_call: grpc.ServerUnaryCall<Empty, Response>, answer: grpc.sendUnaryData<Response>): void => {
      void faults.passage().then(() => answer(null, response()))
    }
  }

  const server = new grpc.Server({ 'grpc.max_receive_message_length': MAX_MESSAGE_BYTES })
  server.addService(streamsService, {
    read: (call: grpc.ServerWritableStream<ReadReq, Buffer>) => void answerRead(call),
    append,
    batchAppend,
    delete: remover<DeleteReq, DeleteResp>((...target) => log.remove(...target), deleteMessage),
    tombstone: remover<TombstoneReq, TombstoneResp>((...target) => log.tombstone(...target), tombstoneMessage),
  })
  server.addService(featureServices.ServerFeaturesService, {
    getSupportedMethods: ask<SupportedMethods>(supportedMethods),
  })
  server.addService(gossipServices.GossipService, { read: ask<ClusterInfo>(() => clusterInfo(role.members())) })
  return server
}
