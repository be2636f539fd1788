/**
 * Cue words that mark sentences worth keeping, in the languages in which people write to agents.
 *
 * They are hints that add to a score, not rules: in other languages sentences are still chosen by terms, numbers and
 * position.
 */

/** Properties of a sentence. */
export interface Cues {
  readonly decision: boolean
  readonly constraint: boolean
  readonly preference: boolean
  readonly error: boolean
  readonly outcome: boolean
  readonly pending: boolean
  readonly question: boolean
  readonly reason: boolean
  readonly filler: boolean
}

// Latin and Cyrillic words need a boundary; `\b` covers only ASCII, hence the look-arounds. CJK has no word boundaries.
const words = (latin: string, cjk: string): RegExp =>
  new RegExp(`(?<![\\p{L}\\p{N}])(?:${latin})(?![\\p{L}\\p{N}])|${cjk}`, 'iu')

const DECISION = words(
  String.raw`decid\w+|decision|chose|chosen|choose|let'?s (?:go with|use|do|keep|not)|(?:go|going|went) with|instead of|rather than|settled? on|agreed?|switch(?:ed)? to|we(?:'ll| will) use|opted|the plan is|approach|entschieden|entscheid\p{L}*|beschlossen|stattdessen|vereinbart|décid\p{L}+|choisi\p{L}*|plutôt que|au lieu de|decid\p{L}+|elegi\p{L}*|en lugar de|en vez de|acordamos|scelto|deciso|escolh\p{L}+|решил\p{L}*|решено|выбра\p{L}+|вместо|договорил\p{L}*`,
  '决定|決定|选择|選擇|采用|採用|改用|改成|就用|就这样|同意|确定|確定|決め|にしましょう|にします|ことにし|採用|選び|選択|方針|결정|하기로|선택|채택|대신',
)
// Words that bind. The additional words in CONSTRAINT only make a constraint likely.
const BINDING = String.raw`must(?:n'?t| not)?|never|don'?t|do not|always|required?|make sure|ensure|no more than|at most|at least|avoid|not allowed|forbidden|muss|müssen|niemals|nie|darf|dürfen|immer|unbedingt|auf keinen fall|doit|doivent|jamais|toujours|il faut|interdit|ne pas|debe\p{L}*|nunca|siempre|hay que|prohibido|deve|sempre|нельзя|никогда|всегда|должен|должны|обязательно`
const BINDING_CJK =
  '必须|必須|不要|不能|不可|禁止|务必|務必|一定要|只能|请勿|不许|千万|最多|至少|必ず|しないで|てはいけ|ではいけ|べき|반드시|하지 ?마|금지|말아|절대|항상|꼭|최대|최소'
const CONSTRAINT = words(
  String.raw`${BINDING}|does not need|only|should(?:n'?t| not)?|requires|cannot|can'?t|without|keep in mind|remember|important|deadline|budget|limit|nur|bitte|nicht|seulement|n'oublie\p{L}*|solo|sólo|no olvides|mai|не надо|только|нужно`,
  `${BINDING_CJK}|只要|记得|記得|別忘|别忘|要求|てください|て下さい|ないで|だけにし|忘れないで|해야|해 ?주세요`,
)
const BINDS = words(BINDING, BINDING_CJK)
const NO = String.raw`no|not|never|none|without|avoid|forbidden|cannot|\p{L}+n['’]t|nicht|kein\p{L}*|nie|niemals|ohne|ne|pas|jamais|sans|interdit|nunca|jamás|sin|não|sem|non|mai|senza|не|нет|нельзя|никогда|без`
const NEGATED = words(
  NO,
  '不|没|沒|无|無|勿|禁|别|ない|ません|なし|せず|(?<!忘れ)ずに|てはいけ|ではいけ|てはなら|てはだめ|않|마|말|금지|없|안 |안된|안돼|안됩',
)
const DENIED = words(
  NO,
  '不要|不能|不可|不得|不许|不許|不准|不应|不應|不该|不该|不会|不會|不必|不用|不需|不再|请勿|請勿|切勿|禁止|无需|無需|无须|没有|沒有|せず|(?<!忘れ)ずに|しないで|てはいけ|ではいけ|てはなら|てはだめ|しません|必要[がは]?(?:ない|なく|ありません|なし)|않아도|않습니다|않는다|하지 ?마|하지 ?말|금지|안 ?된|안 ?돼|안 ?됩|필요[가는]? ?없',
)
// "Must" is a double negation in Japanese and Korean.
const MUST = /な(?:ければ|くては|いと)(?:なら|いけ)(?:ない|ません)|지 ?않으면 ?안/gu
// A phrase that limits or extends something does not deny it.
const BOUNDS =
  /(?<![\p{L}\p{N}])(?:no|not) (?:more|less|fewer|later|earlier|sooner|longer|higher|lower|larger|smaller|greater) than(?![\p{L}\p{N}])|nicht (?:mehr|weniger|später|länger|früher) als|not (?:only|just|merely)(?![\p{L}\p{N}])|nicht nur|不[得能可]?(?:超过|超過|少于|少於|多于|多於|晚于|晚於|低于|低於|高于|高於)/giu
const WITHOUT_AFTER_NO = new RegExp(
  `(?<![\\p{L}\\p{N}])(?:${NO})(?![\\p{L}\\p{N}]).*(?<![\\p{L}\\p{N}])(?:without|ohne|sans|sin|sem|senza|без)(?![\\p{L}\\p{N}])`,
  'iu',
)
const CLAUSE_ENDS = new RegExp(
  `[,;，；]|(?<![\\p{L}\\p{N}])(?:but|aber|sondern|mais|pero|mas|но)(?![\\p{L}\\p{N}])|(?<![\\p{L}\\p{N}])(?:and|und|et|y|e|и)(?= (?:\\S+ ){0,2}(?:${NO})(?![\\p{L}\\p{N}]))|但是?`,
  'iu',
)
const PREFERENCE = words(
  String.raw`prefer\w*|i (?:really )?(?:like|love|hate|want|need|enjoy)|i'?d (?:like|love|rather|prefer)|favou?rite|allergic|allergy|my (?:name|wife|husband|son|daughter|dog|cat|job|goal|birthday|address|phone|email)|interested in|passionate|looking for|ich (?:mag|möchte|will|bevorzuge)|lieber|am liebsten|je (?:préfère|veux|voudrais)|j'aime|prefiero|quiero|me gusta\p{L}*|me encanta|vorrei|preferisco|prefiro|gosto|предпочита\p{L}+|люблю|хочу|нравится|меня зовут`,
  '喜欢|喜歡|想要|想去|讨厌|討厭|希望|偏好|最爱|最愛|过敏|過敏|我叫|我是|我想|需要|好き|嫌い|欲しい|ほしい|したい|たいです|希望|苦手|得意|趣味|私は|좋아|싫어|원해|원하|싶|선호|제 이름|필요',
)
const ERROR = words(
  String.raw`errors?|fail(?:ed|s|ure|ures|ing)?|exception|traceback|panic(?:ked)?|denied|not found|no such file|undefined|crash(?:ed|es)?|bugs?|broken|break(?:s|ing)?|time[ds]? ?out|refused|rejected|invalid|conflict|wrong|doesn'?t work|not working|unable to|\w+(?:Error|Exception)|fehler|fehlgeschlagen|kaputt|geht nicht|abgelehnt|erreur|échec|échou\p{L}+|ne marche pas|fallo|falló|fallando|no funciona|rechazad\p{L}+|errore|erro|falhou|ошибк\p{L}+|не работает|сломал\p{L}*|отказ\p{L}*`,
  '错误|錯誤|失败|失敗|异常|報錯|报错|出错|不行|无法|無法|崩溃|冲突|エラー|失敗|例外|壊れ|動かな|できない|できません|不具合|バグ|오류|실패|에러|버그|안 ?돼|안 ?됩|고장|예외',
)
const OUTCOME = words(
  String.raw`fixed|fixes|resolved|solved|works now|working now|pass(?:ed|es|ing)?|done|completed?|finished|created?|added|removed|deleted|renamed|updated|changed|replaced|merged|published|installed|implemented|deployed|committed|pushed|confirmed|booked|cancell?ed|refunded|found|root cause|turn(?:s|ed) out|the (?:issue|problem|cause) (?:is|was)|result|won|got|started|moved|bought|joined|finally|workaround|erledigt|behoben|gelöst|fertig|funktioniert|gefunden|hinzugefügt|gebucht|terminé\p{L}*|corrigé\p{L}*|résolu\p{L}*|ajouté\p{L}*|fonctionne|réservé\p{L}*|hecho|terminad\p{L}+|corregid\p{L}+|resuelto|funciona|añadid\p{L}+|reservad\p{L}+|готово|исправ\p{L}+|решен\p{L}*|работает|добавил\p{L}*|удалил\p{L}*`,
  '已经|已經|完成|成功|修复|修復|解决|解決|好了|通过|找到|添加了|创建|发现|結果|できました|完了|修正し|直り|追加し|作成し|見つか|動き|通り|終わり|변경했|완료|성공|수정했|추가했|해결|찾았|만들었|생성|통과',
)
const PENDING = words(
  String.raw`to-?do|next steps?|next,|still (?:need|have|missing|to)|remaining|remains|left to do|later|pending|not yet|follow[- ]up|i(?:'ll| will)|we(?:'ll| will)|going to|need(?:s)? to|plan(?:s|ning)? to|tomorrow|next (?:week|month|year|weekend)|noch (?:nicht|zu|offen)|als nächstes|ausstehend|später|morgen|ensuite|il reste|reste à|prochaine\p{L}*|pas encore|demain|falta\p{L}*|siguiente|pendiente\p{L}*|todavía no|mañana|далее|осталось|ещё не|потом|завтра|следующ\p{L}+`,
  '待办|待|接下来|接下來|下一步|还需要|还没|尚未|之后|打算|准备|計劃|计划|明天|次に|次は|これから|残り|まだ|予定|つもり|今度|明日|後で|다음|아직|남은|예정|나중|내일|할게|계획',
)
const REASON = words(
  String.raw`because|since|due to|so that|in order to|the reason|therefore|caused by|that'?s why|weil|damit|deshalb|wegen|denn|parce que|car|afin|à cause|donc|porque|para que|debido|por eso|perché|потому|поэтому|чтобы|из-за`,
  '因为|因為|由于|由於|所以|原因|为了|為了|ので|ため|理由|なので|때문|위해|그래서|이유',
)
const FILLER =
  /^(?:(?:ok(?:ay)?|sure|thanks?(?: you)?(?: so much)?|thx|great|nice|cool|perfect|awesome|wow|hi|hello|hey|bye|good (?:morning|night|luck)|you'?re welcome|no problem|sounds good|got it|yes|no|yep|nope|please|haha+|lol|danke|hallo|tschüss|merci|bonjour|salut|gracias|hola|adiós|спасибо|привет|好的|谢谢|謝謝|你好|您好|再见|不客气|嗯+|はい|ありがとう(?:ございま(?:す|した))?|こんにちは|こんばんは|おはようございます|よろしくお願いします|そうですね|そうなんですね|なるほど|네|안녕하세요|감사합니다|고마워요?)[\s,.!?，。！？、~…\p{L}\p{N}']{0,24})$|(?:let me|i'?ll|now i(?:'ll)?|now let'?s)(?: now| also)? (?:check|look|see|read|take a look|search|find|start by|verify|explore|examine|continue|run|try)|(?:확인|검증|수행|진행|검색)(?:을|를)? ?하겠습니다|살펴보겠습니다|(?:確認|調査|検証|実行)(?:します|しましょう|させてください)|見てみ(?:ます|ましょう)|让我(?:看|检查|查|先)|我来(?:看|检查|查)/iu
const QUESTION = /[?？؟]|(?:吗|呢|么|嘛|です ?か|ます ?か|でしょうか|ますか|까요?|나요|니까)[。.!！\s]*$/u

const CUES: Readonly<Record<keyof Cues, RegExp>> = {
  decision: DECISION,
  constraint: CONSTRAINT,
  preference: PREFERENCE,
  error: ERROR,
  outcome: OUTCOME,
  pending: PENDING,
  question: QUESTION,
  reason: REASON,
  filler: FILLER,
}

/** Whether a sentence has a property, by its words. */
export const hasCue = (text: string, cue: keyof Cues): boolean => CUES[cue].test(text)

/** The properties of a sentence, by its words. */
export const cuesOf = (text: string): Cues => ({
  decision: hasCue(text, 'decision'),
  constraint: hasCue(text, 'constraint'),
  preference: hasCue(text, 'preference'),
  error: hasCue(text, 'error'),
  outcome: hasCue(text, 'outcome'),
  pending: hasCue(text, 'pending'),
  question: hasCue(text, 'question'),
  reason: hasCue(text, 'reason'),
  filler: hasCue(text, 'filler'),
})

/** Whether a sentence states an obligation or a prohibition. */
export const isConstraint = (text: string): boolean => BINDS.test(text) && !QUESTION.test(text)

const OPEN_ITEM = words(
  String.raw`to-?dos?(?=[ :]|$)|next steps?(?=[: ]|$)|(?:is|are) next|still (?:need(?:s|ed)?|have|has|missing|to (?:do|be)|open|pending)|remain(?:s|ing) (?:open|to|work|tasks?|steps?|issues?|items?)|left to do|not (?:yet )?(?:done|implemented|finished|fixed|tested)(?: yet)?|follow[- ]up|noch (?:nicht|zu|offen)|als nächstes|ausstehend|reste à|il reste|pendiente\p{L}*|todavía no|осталось`,
  '待办|待辦|下一步|还需要|還需要|尚未|まだ(?:です|終わって|できて)|残り(?:の|は)|未対応|다음 단계|아직|남은 (?:작업|일)',
)

/** Whether a sentence names open work. */
export const isOpenItem = (text: string): boolean => OPEN_ITEM.test(text) && !QUESTION.test(text)

/** Whether a text contains a negation. */
export const isNegated = (text: string): boolean => NEGATED.test(text.replaceAll(MUST, ' '))

/**
 * Whether a clause denies its subject: it must not be, need not be, or is no longer so. Stricter than `isNegated`: in
 * scripts without word boundaries a negating letter is part of many other words, and a double negation (never without)
 * is positive.
 */
export const isDenied = (clause: string): boolean =>
  DENIED.test(clause.replaceAll(MUST, ' ').replaceAll(BOUNDS, ' ')) && !WITHOUT_AFTER_NO.test(clause)

/** The clauses of a sentence, split by punctuation and words. *and* splits only if a negation follows. */
export const clausesOf = (sentence: string): readonly string[] => sentence.split(CLAUSE_ENDS)

/**
 * Whether a line of tool output reports an error. Logs, diffs and listings often contain the word "error", so it must
 * open the line, be counted, or have the form of an error report.
 */
export const reportsError = (line: string): boolean =>
  /^[\s\p{P}\p{S}]*(?:error|fatal|panic|traceback|exception|failed|failure|fail|abort(?:ed)?|segmentation fault|错误|失败|エラー|오류|Fehler|erreur)(?![\p{L}])|^\S{0,120}?[:\s](?:error|fatal|ERR!)[:\s[]|\b[A-Z]\w*(?:Error|Exception)\b\s*[:(]|exit(?:ed)? (?:with )?(?:code|status) [1-9]|command not found|no such file|permission denied|cannot find|not found$|timed out|connection refused|(?<![\d.])[1-9]\d* (?:failed|failing|failures?|errors?)\b|✗|✘|❌/iu.test(
    line,
  )
