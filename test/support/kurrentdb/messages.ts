/** Requests of the client as plain values, and plain values as the protobuf messages that it understands. */
import any from 'google-protobuf/google/protobuf/any_pb.js'
import googleEmpty from 'google-protobuf/google/protobuf/empty_pb.js'
import code from '@eventstore/db-client/generated/code_pb.js'
import features from '@eventstore/db-client/generated/serverfeatures_pb.js'
import gossip from '@eventstore/db-client/generated/gossip_pb.js'
import shared from '@eventstore/db-client/generated/shared_pb.js'
import status from '@eventstore/db-client/generated/status_pb.js'
import streams from '@eventstore/db-client/generated/streams_pb.js'
import type { Message } from 'google-protobuf'
import type { StreamIdentifier, UUID } from '@eventstore/db-client/generated/shared_pb.js'
import type {
  AppendReq,
  AppendResp,
  BatchAppendReq,
  BatchAppendResp,
  DeleteReq,
  DeleteResp,
  ReadReq,
  ReadResp,
  TombstoneReq,
  TombstoneResp,
} from '@eventstore/db-client/generated/streams_pb.js'
import type { ClusterInfo } from '@eventstore/db-client/generated/gossip_pb.js'
import type { SupportedMethods } from '@eventstore/db-client/generated/serverfeatures_pb.js'
import type { AppendResult, Expected, Proposed, Recorded } from './log.js'
import type { ReadQuery, StartPoint, SubscriptionFilter, SubscriptionItem, SubscriptionQuery } from './reads.js'

/** The limit on the data of one append, all its events together; metadata is not counted. */
export const MAX_APPEND_BYTES = 1_048_576
/** The number of events that a filter examines in one step, unless the client sets another. */
const SEARCH_WINDOW = 32

const nameOf = (identifier: StreamIdentifier | undefined): string =>
  Buffer.from(identifier?.getStreamName_asU8() ?? []).toString('utf8')
const identifierOf = (name: string): StreamIdentifier => new shared.StreamIdentifier().setStreamName(Buffer.from(name))
const uuidOf = (id: string): UUID => new shared.UUID().setString(id)
const UUID_TEXT = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/

interface ProposedMessage {
  getId(): UUID | undefined
  getMetadataMap(): { get(key: string): string | undefined }
  getData_asU8(): Uint8Array
  getCustomMetadata_asU8(): Uint8Array
}

/** Throws where the id is no UUID or the type is empty, as the real server does while it reads a request. */
export function proposedFrom(message: ProposedMessage): Proposed {
  const id = message.getId()?.getString().toLowerCase() ?? ''
  const properties = message.getMetadataMap()
  const type = properties.get('type') ?? ''
  if (!UUID_TEXT.test(id)) throw new Error('Unrecognized Guid format.')
  if (type === '') throw new Error("Value cannot be null. (Parameter 'eventType')")
  return {
    id,
    type,
    contentType:
      properties.get('content-type') === 'application/json' ? 'application/json' : 'application/octet-stream',
    data: message.getData_asU8(),
    metadata: message.getCustomMetadata_asU8(),
  }
}

/** What an append is checked against before the log sees it. */
export const isTooLarge = (events: readonly Proposed[]): boolean =>
  events.reduce((sum, { data }) => sum + data.length, 0) > MAX_APPEND_BYTES

interface UnaryOptions {
  getStreamIdentifier(): StreamIdentifier | undefined
  hasRevision(): boolean
  getRevision(): string
  hasNoStream(): boolean
  hasStreamExists(): boolean
}

export interface AppendTarget {
  readonly stream: string
  readonly expected: Expected
}

function targetOf(options: UnaryOptions): AppendTarget {
  const stream = nameOf(options.getStreamIdentifier())
  if (options.hasRevision()) return { stream, expected: Number(options.getRevision()) }
  if (options.hasNoStream()) return { stream, expected: 'no_stream' }
  return { stream, expected: options.hasStreamExists() ? 'stream_exists' : 'any' }
}

/** The target of a unary append. */
export const targetOfAppend = (request: AppendReq): AppendTarget =>
  targetOf(request.getOptions() ?? new streams.AppendReq.Options())
/** The target of a deletion, of either kind. */
export const targetOfDelete = (request: DeleteReq | TombstoneReq): AppendTarget =>
  targetOf(request.getOptions() ?? new streams.DeleteReq.Options())

export interface BatchTarget extends AppendTarget {
  /** The instant, in milliseconds, at which the client stops waiting for the answer. */
  readonly deadline: number
}

/** The target of one append of a batch stream. */
export function targetOfBatch(options: BatchAppendReq.Options): BatchTarget {
  const stream = nameOf(options.getStreamIdentifier())
  const deadline = options.getDeadline()?.toDate().getTime() ?? Infinity
  if (options.hasStreamPosition()) return { stream, deadline, expected: Number(options.getStreamPosition()) }
  if (options.hasNoStream()) return { stream, deadline, expected: 'no_stream' }
  return { stream, deadline, expected: options.hasStreamExists() ? 'stream_exists' : 'any' }
}

/** Exactly one of start, end and a value is set; `at` says which value. */
const startPoint = (
  option: { hasStart(): boolean; hasEnd(): boolean } | undefined,
  at: () => Omit<Extract<StartPoint, { kind: 'at' }>, 'kind'>,
): StartPoint => {
  if (option === undefined || option.hasStart()) return { kind: 'start' }
  return option.hasEnd() ? { kind: 'end' } : { kind: 'at', ...at() }
}

function placeIn(options: ReadReq.Options): { readonly stream: string | undefined; readonly start: StartPoint } {
  const ofStream = options.getStream()
  if (ofStream !== undefined)
    return {
      stream: nameOf(ofStream.getStreamIdentifier()),
      start: startPoint(ofStream, () => ({ value: Number(ofStream.getRevision()) })),
    }
  const ofAll = options.getAll()
  const position = ofAll?.getPosition()
  return {
    stream: undefined,
    start: startPoint(ofAll, () => ({
      value: Number(position?.getCommitPosition() ?? '0'),
      prepare: Number(position?.getPreparePosition() ?? '0'),
    })),
  }
}

/** The question that a read asks. */
export const readQueryOf = (options: ReadReq.Options): ReadQuery => ({
  ...placeIn(options),
  backwards: options.getReadDirection() === streams.ReadReq.Options.ReadDirection.BACKWARDS,
  maxCount: Number(options.getCount()),
})

function filterOf(options: ReadReq.Options): SubscriptionFilter | undefined {
  const filter = options.getFilter()
  if (filter === undefined) return undefined
  const onStream = filter.getStreamIdentifier()
  const expression = onStream ?? filter.getEventType() ?? new streams.ReadReq.Options.FilterOptions.Expression()
  const regex = expression.getRegex() === '' ? undefined : new RegExp(expression.getRegex())
  const prefixes = expression.getPrefixList()
  return {
    matches(record) {
      const text = onStream === undefined ? record.type : record.stream
      return regex === undefined ? prefixes.some((prefix) => text.startsWith(prefix)) : regex.test(text)
    },
    checkpointEvery: (filter.hasMax() ? filter.getMax() : SEARCH_WINDOW) * filter.getCheckpointintervalmultiplier(),
  }
}

/** The question that a subscription asks. */
export const subscriptionQueryOf = (options: ReadReq.Options): SubscriptionQuery => ({
  ...placeIn(options),
  filter: filterOf(options),
})

/** A position; the server sends the largest number of 64 bits where it has none. */
const positionText = (position: number): string => (position >= 2 ** 63 ? '18446744073709551615' : String(position))

// An event goes out as often as it is read, so it is put into bytes once.
const encoded = new WeakMap<Recorded, Buffer>()

function bytesOf(message: Message): Buffer {
  const { buffer, byteOffset, byteLength } = message.serializeBinary()
  return Buffer.from(buffer, byteOffset, byteLength)
}

/** A record as the answer to a read, ready to be sent. */
export function recordMessage(record: Recorded): Buffer {
  const known = encoded.get(record)
  if (known !== undefined) return known
  const position = String(record.position)
  const event = new streams.ReadResp.ReadEvent.RecordedEvent()
    .setId(uuidOf(record.id))
    .setStreamIdentifier(identifierOf(record.stream))
    .setStreamRevision(String(record.revision))
    .setCommitPosition(position)
    .setPreparePosition(position)
    .setData(record.data)
    .setCustomMetadata(record.metadata)
  event
    .getMetadataMap()
    .set('type', record.type)
    .set('content-type', record.contentType)
    .set('created', String(record.created))
  const bytes = bytesOf(
    new streams.ReadResp().setEvent(new streams.ReadResp.ReadEvent().setEvent(event).setCommitPosition(position)),
  )
  encoded.set(record, bytes)
  return bytes
}

/** The answer to a read of a stream that is not there. */
export const notFoundMessage = (stream: string): Buffer =>
  bytesOf(
    new streams.ReadResp().setStreamNotFound(
      new streams.ReadResp.StreamNotFound().setStreamIdentifier(identifierOf(stream)),
    ),
  )

/** What a subscriber is sent. */
export function subscriptionMessage(item: SubscriptionItem, subscriptionId: string): Buffer {
  const message: ReadResp = new streams.ReadResp()
  switch (item.kind) {
    case 'record':
      return recordMessage(item.record)
    case 'confirmation':
      return bytesOf(
        message.setConfirmation(new streams.ReadResp.SubscriptionConfirmation().setSubscriptionId(subscriptionId)),
      )
    case 'caughtUp':
      return bytesOf(message.setCaughtUp(new streams.ReadResp.CaughtUp()))
    case 'fellBehind':
      return bytesOf(message.setFellBehind(new streams.ReadResp.FellBehind()))
    case 'checkpoint':
      return bytesOf(
        message.setCheckpoint(
          new streams.ReadResp.Checkpoint()
            .setCommitPosition(positionText(item.position.commit))
            .setPreparePosition(positionText(item.position.prepare)),
        ),
      )
  }
}

type Refusal = Extract<AppendResult, { kind: 'wrong-version' }>

/** Answers to the unary append. A deleted stream has no answer here: it is a status of the call. */
export function appendMessage(expected: Expected, result: Exclude<AppendResult, { kind: 'deleted' }>): AppendResp {
  if (result.kind === 'wrong-version')
    return new streams.AppendResp().setWrongExpectedVersion(unaryRefusal(expected, result))
  const success = new streams.AppendResp.Success()
  if (result.revision === undefined) success.setNoStream(new shared.Empty())
  else success.setCurrentRevision(String(result.revision))
  if (result.position === undefined) success.setNoPosition(new shared.Empty())
  else
    success.setPosition(
      new streams.AppendResp.Position()
        .setCommitPosition(String(result.position))
        .setPreparePosition(String(result.position)),
    )
  return new streams.AppendResp().setSuccess(success)
}

function unaryRefusal(expected: Expected, { actual }: Refusal): AppendResp.WrongExpectedVersion {
  const refusal = new streams.AppendResp.WrongExpectedVersion()
  if (actual === undefined) refusal.setCurrentNoStream(new shared.Empty())
  else refusal.setCurrentRevision(String(actual))
  if (expected === 'any') return refusal.setExpectedAny(new shared.Empty())
  if (expected === 'no_stream') return refusal.setExpectedNoStream(new shared.Empty())
  return expected === 'stream_exists'
    ? refusal.setExpectedStreamExists(new shared.Empty())
    : refusal.setExpectedRevision(String(expected))
}

/** The answer to a deletion. */
export const deleteMessage = (position: number): DeleteResp =>
  new streams.DeleteResp().setPosition(
    new streams.DeleteResp.Position().setCommitPosition(String(position)).setPreparePosition(String(position)),
  )

/** The answer to a deletion for good. */
export const tombstoneMessage = (position: number): TombstoneResp =>
  new streams.TombstoneResp().setPosition(
    new streams.TombstoneResp.Position().setCommitPosition(String(position)).setPreparePosition(String(position)),
  )

/** The reasons for a failed batch append, in addition to those of the log. */
export type BatchFailure =
  | { readonly kind: 'too-large' | 'timeout' | 'not-ready' }
  | { readonly kind: 'bad-request'; readonly reason: string }

type StatusCode = Parameters<InstanceType<typeof status.Status>['setCode']>[0]

function statusOf(
  statusCode: StatusCode,
  message: string,
  typeName: string,
  details: Message,
): InstanceType<typeof status.Status> {
  const packed = new any.Any()
  packed.pack(details.serializeBinary(), typeName)
  return new status.Status().setCode(statusCode).setMessage(message).setDetails(packed)
}

function failureStatus(failure: BatchFailure): InstanceType<typeof status.Status> {
  switch (failure.kind) {
    case 'too-large':
      return statusOf(
        code.Code.INVALID_ARGUMENT,
        'MaximumAppendSizeExceeded',
        'event_store.client.MaximumAppendSizeExceeded',
        new shared.MaximumAppendSizeExceeded().setMaxappendsize(MAX_APPEND_BYTES),
      )
    case 'timeout':
      return statusOf(code.Code.DEADLINE_EXCEEDED, 'Timeout', 'event_store.client.Timeout', new shared.Timeout())
    case 'not-ready':
      return statusOf(code.Code.UNKNOWN, 'Server Is Not Ready', 'google.protobuf.Empty', new googleEmpty.Empty())
    case 'bad-request':
      return statusOf(
        code.Code.INVALID_ARGUMENT,
        'BadRequest',
        'event_store.client.BadRequest',
        new shared.BadRequest().setMessage(failure.reason),
      )
  }
}

function refusalStatus(expected: Expected, { actual }: Refusal): InstanceType<typeof status.Status> {
  const refusal = new shared.WrongExpectedVersion()
  const empty = new googleEmpty.Empty()
  if (actual === undefined) refusal.setCurrentNoStream(empty)
  else refusal.setCurrentStreamRevision(String(actual))
  if (expected === 'any') refusal.setExpectedAny(empty)
  else if (expected === 'no_stream') refusal.setExpectedNoStream(empty)
  else if (expected === 'stream_exists') refusal.setExpectedStreamExists(empty)
  else refusal.setExpectedStreamPosition(String(expected))
  return statusOf(
    code.Code.FAILED_PRECONDITION,
    'WrongExpectedVersion',
    'event_store.client.WrongExpectedVersion',
    refusal,
  )
}

/** The answer to one append of a batch stream. The client wants the stream's name with every one of them. */
export function batchMessage(
  correlationId: string,
  { stream, expected }: AppendTarget,
  result: AppendResult | BatchFailure,
): BatchAppendResp {
  const message = new streams.BatchAppendResp()
    .setCorrelationId(uuidOf(correlationId))
    .setStreamIdentifier(identifierOf(stream))
  if (result.kind === 'wrong-version') return message.setError(refusalStatus(expected, result))
  if (result.kind === 'deleted')
    return message.setError(
      statusOf(
        code.Code.FAILED_PRECONDITION,
        'StreamDeleted',
        'event_store.client.StreamDeleted',
        new shared.StreamDeleted().setStreamIdentifier(identifierOf(stream)),
      ),
    )
  if (result.kind !== 'appended') return message.setError(failureStatus(result))
  const success = new streams.BatchAppendResp.Success()
  const empty = new googleEmpty.Empty()
  if (result.revision === undefined) success.setNoStream(empty)
  else success.setCurrentRevision(String(result.revision))
  if (result.position === undefined) success.setNoPosition(empty)
  else
    success.setPosition(
      new shared.AllStreamPosition()
        .setCommitPosition(String(result.position))
        .setPreparePosition(String(result.position)),
    )
  return message.setSuccess(success)
}

/** Without `batchappend` in this list the client appends by the unary call. */
export function supportedMethods(): SupportedMethods {
  const methods = ['read', 'append', 'batchappend', 'delete', 'tombstone'].map((name) =>
    new features.SupportedMethod()
      .setServiceName('event_store.client.streams.streams')
      .setMethodName(name)
      .setFeaturesList([]),
  )
  return new features.SupportedMethods().setEventStoreServerVersion('24.2.0').setMethodsList(methods)
}

export interface Member {
  readonly id: string
  readonly host: string
  readonly port: number
  readonly state: 'leader' | 'follower'
  readonly isAlive: boolean
}

/** The answer to a client that looks for the leader. */
export function clusterInfo(members: readonly Member[]): ClusterInfo {
  const { VNodeState } = gossip.MemberInfo
  const infos = members.map((member) =>
    new gossip.MemberInfo()
      .setInstanceId(uuidOf(member.id))
      .setTimeStamp(String(Date.now() * 10_000))
      .setState(member.state === 'leader' ? VNodeState.LEADER : VNodeState.FOLLOWER)
      .setIsAlive(member.isAlive)
      .setHttpEndPoint(new gossip.EndPoint().setAddress(member.host).setPort(member.port)),
  )
  return new gossip.ClusterInfo().setMembersList(infos)
}
