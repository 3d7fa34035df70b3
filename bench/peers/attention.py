def attention_cases(torch, device):
    return []
