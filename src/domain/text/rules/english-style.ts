/** The rows of English about routes, places, contrasts, data, style, conditions, persons, freezes and defaults. */
import { REPORTED, ONCE, VERBS, REACTIONS, TONGUE, WIPE, WIPED, STANDING, CAN } from './english-words.js'
import { anywhere, order, type Way } from './way.js'

export const ENGLISH_PLACES_AND_STYLE: readonly Way[] = [
  anywhere(
    'route: only through',
    String.raw`(?:only|solely|exclusively|always|must|never anywhere but) (?:go(?:es)? )?(?:through|via|by way of|over the)|(?:goes?|run|runs|routed?|sent|send|filed?|come|comes|placed?|paid|handled|travels?)(?: \S+){0,3}? (?:through|via)(?: \S+){1,10}? (?:only|exclusively|never|nowhere else|nothing else|no other|not)|(?:route|funnel|send|put|run) (?:all|every|any)(?: \S+){1,8}? (?:through|via)|there is no other (?:channel|way|route)|through no other`,
    { not: REPORTED },
  ),
  anywhere(
    'route: only to',
    String.raw`(?:go|goes|send|sent|forward|email|deliver|addressed|mail|post|share|report|belongs?|copied|write|reply)(?: [^\s,;]+){0,8}? (?:only|solely|exclusively) (?:to|with|at|in)|(?:go|goes|send|forward|email|deliver|mail|report|write|post)(?: \S+){1,8}? (?:only|exclusively)(?=[.,;!]|$)|to (?:nobody|no one|none|noone) else|for \p{L}+['’]s? eyes only|(?:is|are) (?:only|solely|exclusively) for (?!a |the (?:fun|weekend))|(?:and |, )?(?:nowhere|nobody|no one) else|no other (?:channel|address|place|account|recipient|inbox)|(?:all|every|any) [^,.;?]{2,50} (?:go|goes) (?:straight |directly |first )?to (?!the (?:beach|park|gym))`,
    { not: /\b(?:i|he|she|was|were|had|my|his|her|felt|know|knows)(?:['’]\p{L}+)?\b/u },
  ),
  anywhere(
    'route: copy on every',
    String.raw`(?:cc|bcc|copy|include|put|loop|add|keep|have)(?: \S+){1,8}? (?:on|in|into|to) (?:cc|bcc|copy|every|all (?:mails?|emails?|messages?|replies|threads?)|each|any (?:mail|email|message|reply|thread))|(?:in|on) (?:cc|bcc)(?![\p{L}])|cc['’]?d on|(?<=^|[.,;:] )b?cc \p{L}+`,
    { not: /\b(?:i|he|she|was|were|my|love)(?:['’]\p{L}+)?\b/u },
  ),
  anywhere(
    'place: lives only in',
    String.raw`(?:lives?|belongs?|goes|go|stays?|sits?|is stored|are stored|is kept|are kept|stored|kept|resides?|saved|written|store|keep|put|save|place|file|park)(?: [^\s,;]+){0,9}? (?:only|exclusively|solely)(?: (?:in|inside|under|on|within|at))?(?=[\s.,;!]|$)|(?:store|keep|put|save|place|write|file|live|lives|stay|stays|belong|belongs|go|goes)(?: \S+){1,10}?,? (?:and )?(?:nowhere else|not (?:in|on|under|anywhere)|never (?:in|on|under)|anywhere else)|belongs? (?:in|under|inside) (?!the (?:past|world))(?:the |our |your )?\S*[./_]\S*`,
    { not: /\b(?:i|he|she|was|were|my|his|her|felt|we['’]\p{L}+|had)(?:['’]\p{L}+)?\b/u },
  ),
  anywhere(
    'contrast: X, not Y',
    String.raw`(?:gets? \p{L}+ed|goes|go|is \p{L}+(?:ed|en|wn)|are \p{L}+(?:ed|en|wn)|be \p{L}+ed|belongs?|starts?|ends?|comes?|live|runs?|stays?|sorts?|are|(?:tone|style|format|wording|voice|spelling|language|currency|time ?zone|unit|address) is|we (?:call|use|write|say|store|name|call|format|count|address|book|measure|sign|round|work|bill|ship|log|test|spell))(?: [^\s,]+){0,9}?(?:,| and) (?:and )?(?:not|never) (?!just|only|sure|to mention|really|because|that|yet|even|so|too|bad|necessarily|a (?:big|bad)|just|least|always|all|much|many|alone|out|afraid|what|how|like|as (?:good|bad|much|many|easy|hard|well|fun|long|far|big|if)|be|knowing)`,
    {
      not: /\b(?:i|he|she|was|were|my|his|her|our|felt|feel|it['’]s|that['’]s|they['’]re|had|those are|these are|updated|expect)(?:['’]\p{L}+)?\b/u,
    },
  ),
  order(
    'contrast: use X, not Y',
    String.raw`(?:please |always )?(?:${VERBS})(?: \S+){1,14}?(?:,| and| -| –| —)? (?:not (?!just|only|sure|to mention|really|because|that|yet|even|so|necessarily)\p{L}+|instead of|rather than|in place of|in preference to|over (?!the|there|time|\d|a)\p{L}+)`,
    { not: ONCE },
  ),
  order(
    'contrast: never X but Y',
    String.raw`(?:favou?r|prefer|default to) (?:\S+ ){1,8}?(?:over|to|instead of|rather than)`,
  ),

  order(
    'data: scrub before',
    String.raw`(?:always )?(?:(?:${WIPE})(?: \S+){1,16}|(?:remove|delete|take out|drop|cut|replace|hide|clean|pull|leave out|edit out)(?: \S+){1,12}? (?:before|prior to|whenever|wherever|everywhere|in all|from all|from any|from every|in any|in every))`,
    { not: ONCE },
  ),
  anywhere(
    'data: is masked',
    String.raw`(?:(?:gets?|must be|to be|be|should be|stay|stays?) (?:always )?(?:${WIPED})|(?:are|is) (?:always )?(?:${WIPED}) (?:before|wherever|everywhere|in (?:all|any|every)|when|down|whenever|except)|show only the last|only the last (?:\p{L}+|\d) digits?|may (?:not )?leave the)`,
    { not: REPORTED },
  ),

  anywhere(
    'style: I prefer',
    String.raw`i(?:['’]d| would)? (?:really |much |strongly |generally )?prefer[^.!?]{1,120}?(?<![\p{L}\p{N}])(?:over|instead of|rather than|and not|to (?:use|see|get|have (?:short|small)|read|work|long)|using|that you|you to|if you|you|when you|commits?|answers|replies|names|messages|functions|tables?|lists|bullets?|bullet points|diffs?|prose|comments)(?![\p{L}])|my (?:strong )?preference is|i (?:like|want) (?:my|your|the) (?:code|commits?|answers|replies|tests|reports?|summaries|emails|messages|functions|diffs?) `,
  ),
  anywhere(
    'style: I would rather',
    String.raw`i(?:['’]d| would) rather (?:you|that you|not have|have (?!a )\S+ (?:\S+ ){0,4}?than|get|see|read)|i (?:do not|don['’]?t) (?:ever )?want (?:you|any|it to|this to|to see|the \p{L}+ to|to (?:modify|change|touch|add|use|break|rewrite|remove|install))|i never want|i can['’]?t stand|i(?:['’]m| am) not a fan of (?:long|too|emoji|abbrev)`,
  ),
  order(
    'style: answer in a language',
    String.raw`(?:please |always |only )*(?:speak|write|talk|use|answer) (?:only |in )?(?:${TONGUE})(?! (?:mustard|press))|(?:please |always )*(?:answer|reply|respond|write|speak|talk|communicate|comment|explain|keep|stick|summari[sz]e|draft|address)(?: (?!this|it\b|the following|these)\S+){0,8}? (?:in|to) (?:plain |british |american |simple |formal |us |uk )?(?:${TONGUE})`,
    { not: ONCE },
  ),
  anywhere(
    'style: texts are in a language',
    String.raw`(?:comments?|messages?|answers?|replies|docs|documentation|commits?|names|texts?|emails?|reports?|labels|variables|everything|docstrings|tickets?)(?: \S+){0,6}? (?:is|are|go|stay|must be|written|always|only|stays|remain|be)? ?in (?:british |american |plain )?(?:${TONGUE})(?:,? please)?`,
    { not: /\b(?:i|he|she|was|were|my|this|these)\b/u },
  ),
  order(
    'style: keep it short',
    String.raw`(?:please |always )*(?:keep (?!moving|it concise:|it separate:|your (?:resume|emergency)|(?:the|your) (?:dream|faith|mind|head)|me |us |things )(?:\S+ ){1,8}?(?:short|brief|concise|terse|simple|formal|informal|friendly|polite|neutral|tight|crisp|factual|to the point|sorted|alphabetical|up to date|compatible|private|confidential|secret|separate|consistent|small|lowercase|minimal|plain|professional|casual|readable|flat|intact|unchanged)|be (?:brief|concise|terse|succinct)|(?:answer|reply|respond) (?:briefly|concisely|tersely|in (?:one|two|three|a few|short|full|bullet|plain|at most|no more)|with (?:one|short|just))|(?:short|brief|concise|terse) (?:answers|replies|responses|messages|summaries)|skip the (?:pleasantries|preamble|small talk|intro|fluff|apologies|disclaimers?)|go easy on|spare me|lead with|start (?:every|each|all|your)|end (?:every|each|all|your)|put the (?:answer|conclusion|result|summary) first|address (?:the )?(?:customers?|clients?|users?|me|people|everyone) (?:as|by|with))`,
    { not: ONCE },
  ),

  order(
    'condition: when X, do Y',
    String.raw`(?:when(?:ever)?|if|once|as soon as|in case|should|every time|each time|any ?time|the (?:moment|minute|second)|where) (?!(?:i|we|he|she)\b|you (?:need|want|have any|feel|like|wish|are (?:looking|ready|interested)|decide|prefer|get a chance|can)\b|that['’]?s|it(?:['’]s| is| has))[^?!]{3,160}?,? (?:then |please |just |always |simply |immediately )*(?<=, (?:then |please |just |always |simply |immediately )*|then )(?:${REACTIONS})(?! (?:for that|by|in touch))`,
    { not: /\b(?:let me know|feel free|don['’]t hesitate|don['’]t worry|never (?:know|mind)|i['’]ll|i will)\b/u },
  ),
  order(
    'condition: stop if',
    String.raw`(?:stop|abort|halt|pause|bail out|roll (?:it |everything )?back|escalate|hold off|call me|wake me|do nothing|refuse|decline)(?: \S+){0,8}? (?:if|when|whenever|once|as soon as|the moment|unless|until)|(?:notify|alert|tell|inform|ping|page|warn)(?: \S+){1,4}? (?:whenever|the moment|the minute|as soon as|immediately if|every time|if (?:the|any|a)|when(?:ever)? (?:the|any|a))`,
    { not: ONCE },
  ),

  order(
    'exclusivity: only X may',
    String.raw`only (?!(?:i|we|time|you|if|when|thing|then|god|after|once)\b)(?:[^\s,;]+ ){1,6}?(?:${CAN})(?! (?:tell|imagine|hope|dream))|(?:nobody|no one|none|no-one) (?:but|except|other than|apart from|besides|outside)(?: \S+){1,6}? (?:${CAN})|(?:other than|except for|apart from|besides) [^,]{2,40}, (?:nobody|no one)`,
    { not: /\b(?:was|were|could|had)\b/u },
  ),
  anywhere(
    'exclusivity: is the only one',
    String.raw`(?:is|are) the only (?:one|ones|person|people|team|account|user|role)s? (?:who |that |with |allowed|authori[sz]ed|permitted|cleared)(?: ?\S+){0,3}? ?(?:may|can|is allowed|are allowed|to|permission|access|decides?|approves?|signs?)|(?:is|are) reserved for|(?:is|are) (?:\p{L}+['’]s|up to \p{L}+)(?: and \p{L}+['’]s?)? ?(?:decision|call|job|responsibility)? ?(?:alone|only|and (?:his|hers|theirs|nobody))|(?:decision|call|approval)s? (?:is|are|lies?|rests?|stays?) (?:\p{L}+['’]s|with) |by \p{L}+ (?:and \p{L}+ )?(?:alone|only|and nobody)`,
    { not: /\b(?:i|he|she|was|were|it['’]s|my)\b/u },
  ),
  anywhere(
    'exclusivity: the only X you may',
    String.raw`the (?:only|sole) (?:[^\s,;]+ ){1,9}?(?:you|the agent|the bot|agents?)(?:['’]re| are| is)? (?:may|can|allowed|permitted|should|to|get|need|must|free)|you(?:['’]re| are)? (?:may |can |only |are )?(?:only|solely|exclusively) (?:allowed|permitted|to|write|read|touch|edit|use|access|work)|your (?:access|permissions?|scope|role|job|remit|authority|budget|mandate) (?:is|are|ends?|stops?|covers?|extends?|does not|doesn['’]t)`,
    { not: /\b(?:was|were|had)\b/u },
  ),

  anywhere(
    'freeze: is frozen',
    String.raw`(?:is|are|stays?|remains?) (?:now |currently |officially |considered |as of \S+ )?(?:frozen|locked down|in (?:code |feature |a )?freeze|read[- ]only|closed (?:for|to) (?:changes|new|further|edits)|feature[- ]frozen|under (?:a )?(?:code |change )?freeze|set in stone|immutable|write-protected|view-only|append-only)|(?:code|feature|change|release|schema|deploy\p{L}*|hiring|content) freeze (?:until|from|on|for|starts|is|in|through|till|between)|(?:treat|consider|regard|handle) [^.?!]{1,90}? (?:as )?(?:read[- ]only|frozen|immutable|locked|untouchable|view-only|confidential|append-only|archived|final|legacy)(?![\p{L}])|(?:is|are) in (?:pure )?maintenance(?: mode)?,|no (?:new|further|more) (?:features?|changes|fields|columns|commits|edits|endpoints|work|code|development) (?!found|yet|were)|(?:view|look|read),? (?:but )?(?:don['’]t|do not|never|not) (?:touch|edit|write)`,
    {
      not: /\b(?:i|he|she|was|were|lake|pond|river|screen|window|app|terminal|error|cannot|can['’]t|couldn['’]t|because|filesystem)(?:['’]\p{L}+)?\b/u,
    },
  ),

  order(
    'default: from now on',
    String.raw`(?:and |so |but )?(?:from (?:now|today|here|this point|that point|tomorrow|next \p{L}+|\p{L}+day)(?: on(?:wards?)?| forward)|(?:going|moving) forward|in future|henceforth|hereafter|as of (?:today|now|this|next|tomorrow|monday)|starting (?:today|now|tomorrow|next|this|monday)|effective (?:immediately|today|now)|until further notice|for all future|for the rest of (?:this|the) (?:project|session|conversation|sprint|chat|work)|for the (?:duration|remainder) of|as a (?:rule|default|matter of (?:course|principle))|unless (?:i|we) (?:say|tell|ask|state|specify)|unless (?:told|stated|noted|specified|otherwise|instructed|asked)|(?:when|if|whenever) in doubt|in case of doubt|by default,?(?= (?:use|write|answer|reply|keep|assume|do|don['’]t|you|we|all|every|no|new|put|show|send|run|leave|treat|take|log|store|format|prefer|stick|go|pick|choose|set|return|include|skip)\b)|throughout (?:this|the) (?:project|repo|codebase))(?:,)? (?!(?:i|i['’]\p{L}+|we['’]ll|we will|we['’]re|my|he|she|they)\b)[\p{L}\p{N}“"'«][\p{L}\p{N}]*`,
    {
      not: /\b(?:i['’]ll|i will|i want|i plan|i hope|i['’]m|i am|my|was|were|returns?|it (?:is|uses)|excited|journey|aims?|wondering)\b/u,
    },
  ),
  anywhere(
    'default: X from now on',
    String.raw`(?:from now on|from here on(?: out)?|until further notice|unless (?:i|we) (?:say|tell you|ask|state|specify)(?: otherwise)?|unless (?:told|stated|specified|instructed) otherwise|by default, (?:use|assume|keep|write|show|put|send)|(?:default|defaults) to \p{L}+ (?:unless|when|if)|the default (?:is|for)(?: \S+){1,8}? unless|as a (?:rule|default))`,
    { not: /\b(?:i['’]ll|i will|i want|i plan|i hope|i['’]m|i am|my|was|were|he|she|i)\b/u },
  ),

  anywhere(
    'polite: could you always',
    String.raw`(?:could|can|would|will|may i ask|might) (?:you|you guys)(?: please| kindly| maybe| perhaps)? (?:(?:always|never|only|make sure|stick to|refrain|not|avoid|try to (?:always|keep)|keep (?!me|going)|make it a (?:habit|rule)|remember to always)|(?:\S+ ){1,24}?(?:whenever|every time|each time|any ?time|from now on|going forward|in (?:the )?future|by default|on every|before you|in every|for every|with every|at the end of (?:each|every)))`,
    {
      politeQuestion: true,
      not: /\b(?:can|could) you (?:not|never|always|only) (?:see|believe|find|get|tell|be)\b|^(?:why|what|how)\b/u,
    },
  ),
  anywhere(
    'polite: I would like you to',
    String.raw`(?:i(?:['’]d| would|['’]m| am)?(?: really| very much)? (?:like|love|appreciate|want|need|prefer|grateful|be (?:grateful|glad|happy|thankful)|ask)(?: it)?(?: a lot)?(?: if| for)? you(?: to| could| would|['’]d)?|(?:it would|it['’]d|would) (?:be|help|mean)(?: \S+){0,4}? if you(?: could| would)?|(?:would|do) you mind|(?:be so kind|be kind enough|kindly|please|do me a favou?r and|try to|i expect you to|i ask that you|may i ask you to)) (?:\S+ ){0,24}?(?:${STANDING})(?![\p{L}])`,
    { politeQuestion: true, unless: /\b(?:i|we|he|she|they|you|to)(?:['’]\p{L}+)?(?: \p{L}+)?\s*$/u, not: ONCE },
  ),
]
