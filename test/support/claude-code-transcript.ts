/**
 * A made-up transcript in the format of Claude Code: a talk with a tool, a compaction, and a talk after it. It imitates
 * the records of versions 2.1.x: `user`, `assistant`, `system/compact_boundary` and its summary.
 */

const at = (second: number): string => new Date(Date.UTC(2026, 0, 1, 10, 0, second)).toISOString()

/** The lines of a conversation with this number of turns, compacted after each of the given turns. */
export function claudeCodeLines(turns: number, compactedAfter: readonly number[], sessionId = 'session-1'): string[] {
  const lines: string[] = []
  let parent: string | null = null
  let second = 0
  const push = (record: Record<string, unknown>, uuid: string): void => {
    second += 1
    lines.push(
      JSON.stringify({
        parentUuid: parent,
        isSidechain: false,
        userType: 'external',
        cwd: '/srv/harbour',
        sessionId,
        version: '2.1.50',
        uuid,
        timestamp: at(second),
        ...record,
      }),
    )
    parent = uuid
  }
  for (let turn = 0; turn < turns; turn += 1) {
    const n = String(turn)
    push(
      { type: 'user', message: { role: 'user', content: `Please look at crane ${n}. Never touch production.` } },
      `u${n}`,
    )
    push(
      {
        type: 'assistant',
        requestId: `req${n}`,
        message: {
          id: `msg${n}`,
          role: 'assistant',
          model: 'claude-opus-4-5',
          content: [
            { type: 'tool_use', id: `call${n}`, name: 'Read', input: { file_path: `/srv/yard/slipwayPlan_${n}.toml` } },
          ],
          usage: { input_tokens: 100, output_tokens: 10 },
        },
      },
      `a${n}`,
    )
    push(
      {
        type: 'user',
        message: {
          role: 'user',
          content: [
            {
              type: 'tool_result',
              tool_use_id: `call${n}`,
              content: `crane ${n}: bolt M${n} is loose. ${'rust '.repeat(40)}`,
            },
          ],
        },
      },
      `r${n}`,
    )
    push(
      {
        type: 'assistant',
        requestId: `req${n}b`,
        message: {
          id: `msg${n}b`,
          role: 'assistant',
          model: 'claude-opus-4-5',
          content: [{ type: 'text', text: `Bolt M${n} of crane ${n} is loose.` }],
        },
      },
      `b${n}`,
    )
    if (!compactedAfter.includes(turn)) continue
    const before: string | null = parent
    parent = null
    push(
      {
        type: 'system',
        subtype: 'compact_boundary',
        content: 'Conversation compacted',
        logicalParentUuid: before,
        compactMetadata: { trigger: 'auto', preTokens: 9_000 },
      },
      `boundary${n}`,
    )
    push(
      {
        type: 'user',
        isCompactSummary: true,
        isVisibleInTranscriptOnly: true,
        message: {
          role: 'user',
          content: `This session is being continued. Cranes up to ${n} were looked at; bolt M${n} is loose.`,
        },
      },
      `summary${n}`,
    )
  }
  return lines
}
