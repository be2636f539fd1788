/** Totals by program and project. */
import type { Child } from 'hono/jsx'
import { costWords, modelTokens } from '../../../domain/text/cost.js'
import type { GroupTotals, Totals, UsageTotals } from '../../../library/ledger.js'
import { projectName } from './conversations.js'
import { figure, Table } from './table.js'
import { count, plain, visible } from './text.js'

const COLUMNS = [
  'Program',
  'Project',
  figure('Conversations'),
  figure('Messages'),
  figure('Message tokens'),
  figure('Model tokens'),
  'Cost',
]

const projectCell = ({ project }: GroupTotals): Child =>
  project === undefined ? '' : <span title={plain(project)}>{visible(projectName(project))}</span>

const figureCells = (totals: Totals): readonly Child[] => [
  count(totals.conversations),
  count(totals.messages),
  count(totals.tokens),
  count(modelTokens(totals)),
  visible(costWords(totals)),
]

/** The table of totals, with the total of all first. */
export function TotalsTable({ totals }: { totals: UsageTotals }): Child {
  const { total, groups, groupCount } = totals
  const rows = groups.map((group) => [visible(group.program ?? '(none)'), projectCell(group), ...figureCells(group)])
  return (
    <div id="totals">
      <Table
        label="Totals by program and project"
        columns={COLUMNS}
        rows={[['All', '', ...figureCells(total)], ...rows]}
      />
      <p class="muted">
        Model tokens are those that programs and models reported. The cost is the one that a program reported, else the
        list price.
        {groupCount > groups.length
          ? ` ${count(groupCount - groups.length)} more: context-ledger stats --by both --limit ${String(groupCount)}`
          : null}
      </p>
    </div>
  )
}
