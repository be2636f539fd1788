/**
 * ATIF 1.7, the Agent Trajectory Interchange Format of Harbor (RFC 0001, trajectory format): one statement of it for the
 * reader and the writer. Unknown fields are rejected, as in Harbor's own models; `extra` is open at every level.
 */
import { z } from 'zod'

export const ATIF_VERSION = 'ATIF-v1.7'

const extra = z.record(z.string(), z.unknown()).optional()
const count = z.int().nonnegative().optional()
/** ISO 8601. */
const time = z.string().refine((text) => !Number.isNaN(Date.parse(text)), 'is not a time')

const partSchema = z.discriminatedUnion('type', [
  z.strictObject({ type: z.literal('text'), text: z.string() }),
  z.strictObject({
    type: z.literal('image'),
    source: z.strictObject({
      media_type: z.enum(['image/jpeg', 'image/png', 'image/gif', 'image/webp']),
      /** A path or a URL. */
      path: z.string(),
    }),
  }),
])
const contentSchema = z.union([z.string(), z.array(partSchema)])

const callSchema = z.strictObject({
  tool_call_id: z.string(),
  function_name: z.string(),
  arguments: z.record(z.string(), z.unknown()),
  extra,
})
const subagentSchema = z
  .strictObject({
    trajectory_id: z.string().optional(),
    trajectory_path: z.string().optional(),
    session_id: z.string().optional(),
    extra,
  })
  .refine((ref) => ref.trajectory_id !== undefined || ref.trajectory_path !== undefined, 'names no trajectory')
const resultSchema = z.strictObject({
  source_call_id: z.string().optional(),
  content: contentSchema.optional(),
  subagent_trajectory_ref: z.array(subagentSchema).optional(),
  extra,
})
const metricsSchema = z.strictObject({
  prompt_tokens: count,
  completion_tokens: count,
  cached_tokens: count,
  cost_usd: z.number().optional(),
  prompt_token_ids: z.array(z.int()).optional(),
  completion_token_ids: z.array(z.int()).optional(),
  logprobs: z.array(z.number()).optional(),
  extra,
})

const AGENT_ONLY = ['model_name', 'reasoning_effort', 'reasoning_content', 'tool_calls', 'metrics'] as const

const stepSchema = z
  .strictObject({
    step_id: z.int().min(1),
    timestamp: time.optional(),
    source: z.enum(['system', 'user', 'agent']),
    model_name: z.string().optional(),
    reasoning_effort: z.union([z.string(), z.number()]).optional(),
    message: contentSchema,
    reasoning_content: z.string().optional(),
    tool_calls: z.array(callSchema).optional(),
    observation: z.strictObject({ results: z.array(resultSchema) }).optional(),
    metrics: metricsSchema.optional(),
    is_copied_context: z.boolean().optional(),
    llm_call_count: z.int().nonnegative().optional(),
    extra,
  })
  .superRefine((step, context) => {
    const reject = (field: string, message: string): void => {
      context.addIssue({ code: 'custom', path: [field], message })
    }
    if (step.source !== 'agent')
      for (const field of AGENT_ONLY) if (step[field] !== undefined) reject(field, 'applies to steps of the agent only')
    if (step.llm_call_count === 0)
      for (const field of ['metrics', 'reasoning_content'] as const)
        if (step[field] !== undefined) reject(field, 'must be absent without a call of a model')
    const ids = new Set(step.tool_calls?.map((call) => call.tool_call_id))
    for (const { source_call_id: id } of step.observation?.results ?? [])
      if (id !== undefined && !ids.has(id)) reject('observation', `refers to ${id}, which is no call of this step`)
  })

const agentSchema = z.strictObject({
  name: z.string(),
  version: z.string(),
  model_name: z.string().optional(),
  tool_definitions: z.array(z.record(z.string(), z.unknown())).optional(),
  extra,
})

const trajectoryFields = {
  session_id: z.string().optional(),
  trajectory_id: z.string().optional(),
  agent: agentSchema,
  steps: z
    .array(stepSchema)
    .min(1)
    .refine((steps) => steps.every(({ step_id: id }, at) => id === at + 1), 'must be numbered from 1, without a gap'),
  notes: z.string().optional(),
  final_metrics: z
    .strictObject({
      total_prompt_tokens: count,
      total_completion_tokens: count,
      total_cached_tokens: count,
      total_cost_usd: z.number().optional(),
      total_steps: count,
      extra,
    })
    .optional(),
  continued_trajectory_ref: z.string().optional(),
  extra,
}

const hasOwnIds = (all: readonly { readonly trajectory_id?: string | undefined }[]): boolean =>
  new Set(all.flatMap((each) => each.trajectory_id ?? [])).size === all.length

/** Version 1.7 has every field of the earlier ones. */
const versionSchema = z.string().regex(/^ATIF-v1\.[0-7]$/u, 'is not a known version')
const flatSchema = z.strictObject({ schema_version: versionSchema, ...trajectoryFields })

export interface AtifTrajectory extends z.infer<typeof flatSchema> {
  readonly subagent_trajectories?: readonly AtifTrajectory[] | undefined
}

/** A trajectory. Embedded ones each have an id of their own. */
export const atifSchema: z.ZodType<AtifTrajectory> = flatSchema
  .extend({ subagent_trajectories: z.array(z.lazy(() => atifSchema)).optional() })
  .refine(
    ({ subagent_trajectories: inner = [] }) => hasOwnIds(inner),
    'embedded trajectories must each have an id of their own',
  )
export type AtifStep = AtifTrajectory['steps'][number]
export type AtifResult = z.infer<typeof resultSchema>
export type AtifContent = z.infer<typeof contentSchema>

/** What `export` adds in `extra.context_ledger`, so that an import restores each message exactly. */
export const atifNoteSchema = z.strictObject({
  /** Index of the message in the conversation. */
  index: z.int().nonnegative(),
  id: z.string().min(1),
  at: time.optional(),
  /** The message, if the other fields do not restore it. */
  body: z.looseObject({ role: z.enum(['system', 'developer', 'user', 'assistant', 'tool']) }).optional(),
  byProgram: z.literal(true).optional(),
  isError: z.literal(true).optional(),
  exitCode: z.int().nonnegative().optional(),
  answerId: z.string().optional(),
})
export type AtifNote = z.infer<typeof atifNoteSchema>
