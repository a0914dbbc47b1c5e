"""Chinese: rules about sentences. Words are not set apart, so patterns are short and their gaps bounded."""

import re

from lanewatch.adapters.dispositions.rules import Language, abstained, answered, refused

_TEXTS = r"(?:文档|文件|上下文|资料|知识库|文中|文章|材料|检索|搜索结果|手册|笔记|来源|信息源|原文|段落)"
_CANNOT = r"(?:无法|不能|不可以|不会|不便|恕难|难以|没法|不予|不允许)"
_HELP = (
    r"(?:帮助|帮您|帮你|帮到|协助|提供|回答|满足|透露|讨论|撰写|生成|编写|告诉|支持|参与|评论|披露|公开|泄露|为您|配合)"
)
# Whoever speaks: a rule for others ("those under eighteen can't") speaks of them.
_WE = r"(?:我|本助手|本系统|恕|抱歉|对不起|不好意思|根据|出于|鉴于|由于)"

LANGUAGE = Language(
    "zh",
    ("不", "无法", "没", "拒绝", "未", "恕", "违反"),
    (
        abstained("texts_lack", "zh", _TEXTS, r"(?:没有|未|并未|不包含|不含|无).{0,12}(?:提到|提及|说明|包含|找到|相关|信息|涉及|记载|给出|指出|内容)"),
        abstained("not_found", "zh", r"(?:没|没有|未能?)(?:有)?(?:找到|查到|检索到|搜到|发现).{0,20}(?:信息|内容|资料|记录|文档|方面|相关|个)?"),
        abstained("cannot_tell_from_texts", "zh", rf"(?:{_TEXTS}|现有信息|给定信息)", r"(?:无法|不足以|不能).{0,6}(?:回答|确定|判断|得出|得知)"),
        abstained("does_not_know", "zh", r"^(?:抱歉,?|对不起,?)?我不(?:知道|清楚)$"),
        refused("unable_to_help", "zh", _WE, rf"{_CANNOT}.{{0,6}}{_HELP}", unless=(r"不能不|告诉别人",)),
        refused("declines", "zh", r"(?:我|我们|本助手)(?:必须|只能|会|要|选择)?(?:拒绝|谢绝)|^拒绝(?:提供|回答|协助|执行)"),
        refused("will_not", "zh", r"帮不了[你您]|这种事我不(?:干|做)|这个我(?:不聊|不能说|不方便)"),
        refused("policy", "zh", r"违反了?(?:我们的|我的|平台的?|本平台的?|使用)?(?:使用)?(?:政策|规定|准则|条款|规范)", r"(?:无法|不能|不会|不予)"),
    ),
    re.compile(r"但(?!.{0,4}(?:无法|不能))|不过|请(?:您)?(?:提供|告诉|告知|补充|确认|上传)|系统|错误|稍后|超时|繁忙|故障|服务器|维护|暂时|第三方|除非|直到|[?\uff1f]"),
    (
        answered("done", "zh", r"^(?:已完成|完成了?|好了|搞定)$"),
        answered("reports_action", "zh", r"^(?:好的[,,]?)?(?:您的|你的|我)?.{0,12}已(?:经)?(?:为您|帮您|帮你)?(?:提交|取消|预订|预定|发送|更新|创建|修改|发货|退款|完成|删除|添加|确认)"),
    ),
    re.compile(r"不|无法|没|未|但|失败|错误|拒绝|只有|除外"),
)  # fmt: skip
