/** The description of the service, OpenAPI 3.1, made of the schemas that requests are parsed by. */
import { OpenAPIHono, type RouteConfig } from '@hono/zod-openapi'
import { z } from 'zod'
import { routes } from '../../schema/index.js'
import { cloudEvent } from '../../schema/answers/cloud-event.js'
import { problem } from '../../schema/problem.js'
import type { Route } from '../../schema/route.js'

const json = (schema: z.ZodType): { 'application/json': { schema: z.ZodType } } => ({ 'application/json': { schema } })

function responsesOf({ answer, status, stream }: Route): object {
  const problems = {
    default: { description: 'Problem', content: { 'application/problem+json': { schema: problem } } },
  }
  if (stream !== undefined)
    return {
      200: {
        description: 'Server-sent events, each a CloudEvent',
        content: { 'text/event-stream': { schema: cloudEvent } },
      },
      ...problems,
    }
  if (answer === undefined) return { 204: { description: 'Done' }, ...problems }
  return {
    [status]: { description: status === 202 ? 'Running; 200 if it has ended' : 'Done', content: json(answer) },
    ...problems,
  }
}

/** The description as a document. */
export function describeApi(version: string): object {
  const described = new OpenAPIHono()
  described.openAPIRegistry.registerComponent('securitySchemes', 'key', {
    type: 'http',
    scheme: 'bearer',
    description: 'A key that `context-ledger keys create` printed. A service on loopback may run without keys.',
  })
  for (const route of Object.values<Route>(routes)) {
    const { id, method, path, summary, roles, reach, params, query, headers, body } = route
    const operation: unknown = {
      method,
      path,
      operationId: id,
      summary,
      description: `Takes a key with the role ${roles.join(' or ')}${reach === 'ledger' ? ', without a bound' : ''}.`,
      security: [{ key: [] }],
      request: {
        params,
        query,
        ...(Object.keys(headers).length === 0
          ? {}
          : {
              headers: z.object(
                Object.fromEntries(
                  Object.entries(headers).map(([name, description]) => [
                    name,
                    z.string().optional().meta({ description }),
                  ]),
                ),
              ),
            }),
        ...(body === undefined ? {} : { body: { required: true, content: json(body) } }),
      },
      responses: responsesOf(route),
    }
    // Two packages extend zod's types in different ways. This type is common to both.
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion
    described.openAPIRegistry.registerPath(operation as RouteConfig)
  }
  return described.getOpenAPI31Document({
    openapi: '3.1.0',
    info: {
      title: 'Context Ledger',
      version,
      description:
        'Conversations of LLM agents as streams of events, with recorded, auditable and replayable compaction.',
    },
  })
}
