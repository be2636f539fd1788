/** The errors of calls: status, text and metadata, by which the client distinguishes its errors. */
import grpc from '@grpc/grpc-js'
import type { ServerErrorResponse } from '@grpc/grpc-js'
import type { AppendResult } from './log.js'
import { MAX_APPEND_BYTES, type AppendTarget, type BatchFailure } from './messages.js'

/** The outcome of an append, for the caller. */
export type Outcome =
  | AppendResult
  | BatchFailure
  | { readonly kind: 'unavailable' }
  | { readonly kind: 'silence' }
  | { readonly kind: 'not-leader'; readonly host: string; readonly port: number }

function problem(
  code: grpc.status,
  details: string,
  properties: Readonly<Record<string, string>> = {},
): ServerErrorResponse {
  const metadata = new grpc.Metadata()
  for (const [name, value] of Object.entries(properties)) metadata.set(name, value)
  return Object.assign(new Error(details), { code, details, metadata })
}

/** Every way for a call to fail, by name. */
export const problems = {
  notReady: () => problem(grpc.status.UNAVAILABLE, 'Server Is Not Ready'),
  unavailable: () => problem(grpc.status.UNAVAILABLE, 'The server has gone away'),
  deadline: () => problem(grpc.status.DEADLINE_EXCEEDED, 'Deadline Exceeded'),
  denied: () => problem(grpc.status.PERMISSION_DENIED, 'Access Denied', { exception: 'access-denied' }),
  unauthenticated: () => problem(grpc.status.UNAUTHENTICATED, 'Unauthenticated'),
  unreadable: () => problem(grpc.status.UNKNOWN, 'Exception was thrown by handler.'),
  invalidRead: (reason: string) => problem(grpc.status.UNKNOWN, reason),
  invalidPosition: () => problem(grpc.status.INVALID_ARGUMENT, 'Trying to read from an invalid position.'),
  tooLarge: () =>
    problem(grpc.status.INVALID_ARGUMENT, `Maximum Append Size of ${String(MAX_APPEND_BYTES)} Exceeded.`, {
      exception: 'maximum-append-size-exceeded',
      'maximum-append-size': String(MAX_APPEND_BYTES),
    }),
  deleted: (stream: string) =>
    problem(grpc.status.FAILED_PRECONDITION, `Event stream '${stream}' is deleted.`, {
      exception: 'stream-deleted',
      'stream-name': stream,
    }),
  wrongVersion: ({ stream, expected }: AppendTarget, actual: number | undefined) =>
    problem(grpc.status.FAILED_PRECONDITION, `Wrong expected version of '${stream}'`, {
      exception: 'wrong-expected-version',
      'stream-name': stream,
      'expected-version':
        typeof expected === 'number' ? String(expected) : { no_stream: '-1', any: '-2', stream_exists: '-4' }[expected],
      ...(actual === undefined ? {} : { 'actual-version': String(actual) }),
    }),
  notLeader: (leader: { readonly host: string; readonly port: number }) =>
    problem(grpc.status.NOT_FOUND, 'Leader info available', {
      exception: 'not-leader',
      'leader-endpoint-host': leader.host,
      'leader-endpoint-port': String(leader.port),
    }),
} as const

/** The status that ends a unary call. */
export function statusOf(
  outcome: Exclude<Outcome, { kind: 'appended' | 'silence' }>,
  target: AppendTarget,
): ServerErrorResponse {
  switch (outcome.kind) {
    case 'wrong-version':
      return problems.wrongVersion(target, outcome.actual)
    case 'deleted':
      return problems.deleted(target.stream)
    case 'too-large':
      return problems.tooLarge()
    case 'timeout':
      return problems.deadline()
    case 'not-ready':
      return problems.notReady()
    case 'unavailable':
      return problems.unavailable()
    case 'not-leader':
      return problems.notLeader(outcome)
    case 'bad-request':
      return problems.unreadable()
  }
}
