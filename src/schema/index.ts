/** All routes of the service, by their names, and the types that derive from them. */
import type { z } from 'zod'
import type { job } from './answers/job.js'
import type { Carried, RouteDefinition } from './route.js'
import * as agent from './routes/agent.js'
import * as conversations from './routes/conversations.js'
import * as editions from './routes/editions.js'
import * as erasure from './routes/erasure.js'
import * as events from './routes/events.js'
import * as history from './routes/history.js'
import * as jobs from './routes/jobs.js'
import * as messages from './routes/messages.js'
import * as operating from './routes/operating.js'
import * as proofs from './routes/proofs.js'
import * as retention from './routes/retention.js'
import * as rules from './routes/rules.js'
import * as transcripts from './routes/transcripts.js'

const definitions = {
  ...conversations,
  ...messages,
  ...transcripts,
  ...agent,
  ...history,
  ...rules,
  ...proofs,
  ...erasure,
  ...retention,
  ...editions,
  ...operating,
  ...jobs,
  ...events,
} satisfies Readonly<Record<string, RouteDefinition>>

/** All routes. The name of a route is that of its definition. */
// The loop over the definitions keeps their names.
// oxlint-disable-next-line typescript/no-unsafe-type-assertion
export const routes = Object.fromEntries(
  Object.entries(definitions).map(([id, definition]) => [id, { ...definition, id }]),
) as unknown as {
  readonly [Name in keyof typeof definitions]: (typeof definitions)[Name] & { readonly id: Name }
}

/** The name of a route. */
export type RouteName = keyof typeof routes

/** The routes that carry a call of the library. */
export type CarryingRoute = {
  [Name in RouteName]: (typeof routes)[Name]['carries'] extends Carried ? Name : never
}[RouteName]

/** The call that a route carries. */
export type CarriedBy<Name extends CarryingRoute> = NonNullable<(typeof routes)[Name]['carries']>

/** The answer of a route. */
export type AnswerOf<Name extends RouteName> = z.output<NonNullable<(typeof routes)[Name]['answer']>>

/** A job of any route. */
export type Job = z.output<typeof job>

/** The routes that start a job. */
export type JobName = {
  [Name in RouteName]: Name extends 'getJob' | 'cancelJob' ? never : AnswerOf<Name> extends Job ? Name : never
}[RouteName]

/** The progress of a job while it runs. */
export type ProgressOf<Name extends JobName> = NonNullable<AnswerOf<Name>['progress']>

/** The result of a job. */
export type ResultOf<Name extends JobName> = AnswerOf<Name>['result'] & ({} | null)
